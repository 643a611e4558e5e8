// Package decision is the decision service. Engines in other processes and languages
// send a document of package pkg/hooks/wire, or a CloudEvent. They receive the outcome
// of the hooks of a registry.
//
//	POST /v1/decisions                    200 and the outcome, or a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, or the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// All services of a deployment share a NATS queue group, so only one of them answers a
// request. NATS permissions apply to subjects. Therefore the tenant in the subject is
// decisive, and a document that names another tenant is refused. A request can limit
// the time of the hooks with the header Hooktrail-Timeout-Ms, up to the timeout of the
// service.
//
// The Appender of the registry records each request and its outcome as one event
// before the response. A decision without a record cannot be proved, so a failure to
// record is an error. If there are too many concurrent decisions, the service refuses
// a request at once. The caller can then fail open or closed without a wait.
package decision
