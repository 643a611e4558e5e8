// Package stream is the wing between the services and NATS JetStream.
//
// Data flow:
//
//	broker      connects to a NATS server or starts the embedded one, and creates the streams
//	consume     reads a stream in batches for one projection and acknowledges committed batches
//	projection  commits a service's state together with its stream position
//
// A batch travels from broker through consume to the handler of a service. The
// handler commits its state and the position of the last message in one
// transaction. Then consume acknowledges the batch. After a crash the service
// resumes at the committed position.
//
// The packages know subjects and events, but no service. pkg/publish fills the
// streams. The wings evidence, tracking and metrics read them.
package stream
