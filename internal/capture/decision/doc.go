// Package decision is the decision service. Engines in other processes and languages
// send a document, and get the outcome of the hooks of a registry.
//
// A request is a document of package pkg/hooks/wire, or a CloudEvent. The response is
// the outcome: verdict, reason, patched arguments and the executions of the hooks.
//
//	POST /v1/decisions                    200 and the outcome, or a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, or the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// Over NATS all services of a deployment share a queue group, so one of them answers.
// If none runs, the server reports that at once. The tenant in the subject counts,
// because permissions refer to subjects. A document must not name another tenant. The
// header Hooktrail-Timeout-Ms, on both ways, limits the time of the hooks. It cannot
// exceed the timeout of the service.
//
// The Appender of the registry records each request and its outcome as one event
// before the response. If recording fails, the response is an error, because a
// decision without a record cannot be proved. The number of concurrent decisions is
// limited. Further requests are refused at once, so that callers can fail open or
// closed without a wait.
package decision
