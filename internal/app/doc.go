// Package app runs all services in one process: an embedded or remote broker, the publisher with
// its HTTP server, the auditor, the tracker and the metrics. Each service can also run as its own
// process.
//
// [Run] restarts a service that fails, with growing pauses. The other services continue. A stop
// drains in the order of the data flow. First the publisher sends all accepted events to the
// stream. Then the tracker handles them, because its decisions are events too. Then the auditor and
// the metrics handle the last message. The HTTP server and then the embedded broker stop last. A
// deadline limits the drain, and the next start resumes unfinished work.
package app
