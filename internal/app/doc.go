// Package app runs all services in one process. These are an embedded or remote broker, the
// publisher with its HTTP server, the auditor, the tracker and the metrics. Each can also run as a
// separate process.
//
// [Run] restarts a failed service after growing pauses, and the other services continue. A stop
// drains the services in the order of the data flow. First the publisher sends all accepted events
// to the stream, then the tracker handles them, and then the auditor and the metrics. The HTTP
// server and the embedded broker stop last. A deadline limits the drain, and the next start resumes
// it.
package app
