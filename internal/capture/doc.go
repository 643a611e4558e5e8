// Package capture contains the packages that turn the actions of agents into events.
//
// Data flow:
//
//	agents, install     know the hook payloads and the configuration of each agent
//	hookclient          answers one hook payload of an agent and records it
//	hooksocket          passes a payload to a publisher over its socket
//	decision            lets engines in other processes ask the hooks of a registry
//	ingest              reads transcripts, CloudEvents and OpenTelemetry logs
//	tokens              maps a bearer token to a tenant
//	quota               limits how much each tenant sends
//	publisher           receives events and hook payloads over HTTP and Unix sockets
//	problem             writes the error responses of decision and publisher
//
// Each path ends in Append of pkg/publish, which redacts an event, writes it to disk and forwards
// it to the stream. The hooks themselves are in pkg/hooks.
package capture
