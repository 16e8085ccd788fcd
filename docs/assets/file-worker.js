/* Pages opened from a folder may not start workers, which the search needs. There the script of a
   worker runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source === inner || event.data?.fileWorker === url) {
          const answer = new MessageEvent("message", { data: event.data.content });
          this.dispatchEvent(answer);
          this.onmessage?.(answer);
        }
      });
      const doc = inner.document;
      doc.open();
      doc.write("<!doctype html><body></body>");
      doc.close();
      inner.postMessage = (content) => window.postMessage({ fileWorker: url, content }, "*");
      const load = (address) =>
        new Promise((done, failed) => {
          const script = doc.createElement("script");
          script.src = address;
          script.onload = done;
          script.onerror = () => failed(new Error(address));
          doc.body.appendChild(script);
        });
      inner.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
      this.ready = load(url);
      this.inner = inner;
    }
    postMessage(content) {
      this.ready.then(() =>
        this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data: content })),
      );
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
