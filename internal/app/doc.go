// Package app runs all services in one process. These are an embedded or remote broker, the
// publisher with its HTTP server, the auditor, the tracker and the metrics. Each service can also
// run as a separate process.
//
// [Run] restarts a failed service after growing pauses, and the other services continue. A stop
// drains the services in the order of the data flow. First the publisher sends all accepted events
// to the stream. Then the tracker handles them and publishes decisions. Then the auditor and the
// metrics handle all messages. The HTTP server and then the embedded broker stop last. A deadline
// limits the drain, and the next start resumes unfinished work.
package app
