// Package decision is the decision service. Engines in other processes and languages
// send a document of package pkg/hooks/wire, or a CloudEvent. They receive the outcome
// of the hooks of a registry.
//
//	POST /v1/decisions                    200 and the outcome, or a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, or the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// All services of a deployment share a NATS queue group, so only one of them answers a
// request. NATS permissions apply to subjects, so the service refuses a document that
// names another tenant than the subject. The header Hooktrail-Timeout-Ms can shorten
// the time of the hooks.
//
// The Appender of the registry records each outcome before the response. If it fails, the
// response is an error. If too many decisions are open, the service refuses a request at
// once.
package decision
