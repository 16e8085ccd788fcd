"""What is noticed beside the requests: alarms, and the points of charts."""
