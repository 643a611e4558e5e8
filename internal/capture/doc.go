// Package capture is the wing that turns the actions of agents into events.
//
// Data flow:
//
//	agents, install     know the hook payloads and the configuration of each agent
//	hook commands       answer one hook payload of an agent and record it
//	decision            answers engines in other processes from the hooks of a registry
//	ingest              reads transcripts, CloudEvents and OpenTelemetry logs
//	tokens              maps a bearer token to a tenant
//	publisher           accepts all of these over HTTP or a socket
//	problem             the error responses of decision and publisher
//
// Each path ends in Append of pkg/publish. That package redacts an event, writes
// it to an outbox on disk and forwards it to the stream. The hooks themselves are
// in pkg/hooks, and the rules of a hooks.yaml file are in pkg/hooks/hookfile.
// The wing evidence records the events that this wing captures.
package capture
