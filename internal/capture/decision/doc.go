// Package decision is the decision service. Engines in other processes and languages
// send a document of package pkg/hooks/wire, or a CloudEvent. They get the outcome of
// the hooks of a registry.
//
//	POST /v1/decisions                    200 and the outcome, or a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, or the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// Over NATS all services of a deployment share a queue group, so one of them answers.
// Permissions refer to subjects, so the tenant in the subject counts, and a document
// must not name another one. The header Hooktrail-Timeout-Ms limits the time of the
// hooks up to the timeout of the service.
//
// The Appender of the registry records each request and its outcome as one event
// before the response. A decision without a record cannot be proved, so a failure to
// record is an error. Requests above the limit of concurrent decisions are refused at
// once, so that callers can fail open or closed without a wait.
package decision
