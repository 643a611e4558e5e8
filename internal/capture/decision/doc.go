// Package decision is the decision service: engines in other processes and
// languages send a document, and get what the hooks of a registry say to it.
//
// Both ways in take a document of the package hookdoc, or a CloudEvent, and
// answer with the outcome: verdict, reason, arguments as patched, and what each
// hook did.
//
//	POST /v1/decisions                    200 and the outcome, else a problem (RFC 9457)
//	request on hooktrail.decide.<tenant>  the outcome, else the headers Nats-Service-Error
//	                                      and Nats-Service-Error-Code
//
// Over NATS all services of a deployment share a queue group: one of them
// answers, and where there is none the server says so at once. The tenant in the
// subject counts, because rights are given on subjects; a document may name no
// other. The header Hooktrail-Timeout-Ms, on both ways, says how long is waited
// for the answer: the hooks have that long, and no longer than the service allows.
//
// Each request and its outcome is recorded as one event by the registry's
// Appender before it is answered. If it cannot be recorded there is no answer but
// an error: a decision that nobody can prove is none. So many decisions are made
// at once and no more; further requests are refused at once, so that who asks can
// fail open or closed instead of waiting.
package decision
