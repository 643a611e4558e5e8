// Package stream is the wing between the services and NATS JetStream.
//
//	broker      connects to a NATS server or starts the embedded one, and creates the streams
//	consume     reads a stream in batches
//	projection  commits a service's state together with its stream position
//
// The broker delivers messages, and consume passes them in batches to the projection of a service.
// After the projection has committed a batch, consume acknowledges it. After a crash, the service
// resumes at the committed position.
//
// The packages know subjects and events, but no service.
package stream
