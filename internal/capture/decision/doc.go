// Package decision is the decision service. Engines in other processes and languages send a
// document of package pkg/hooks/wire, or a CloudEvent, and receive the outcome of the hooks.
//
//	POST /v1/decisions                    200 and the outcome, or a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, or the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// Only one service of a deployment answers a request over NATS. It refuses a document that names
// another tenant than the subject, because NATS permissions apply to subjects. The header
// Hooktrail-Timeout-Ms can shorten the time of the hooks.
//
// Each outcome is recorded before the response. If that fails, the response is an error. If too
// many decisions are open, the service refuses a request at once.
package decision
