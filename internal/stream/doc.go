// Package stream contains the packages between the services and NATS JetStream.
//
//	broker      connects to a NATS server or starts the embedded one, and creates the streams
//	consume     reads a stream in batches
//	projection  commits a service's state together with its stream position
//
// The consumer passes each batch to the projection of a service and acknowledges it after the
// commit. After a crash, the service resumes at the committed position.
//
// The packages import subjects and events, but no service.
package stream
