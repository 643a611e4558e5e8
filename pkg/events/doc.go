// Package events defines events, their kinds and payloads, and their encoding. All other packages
// store, hash and sign the encoded bytes.
//
// An event is a CloudEvents 1.0 event in JSON structured mode. [Event.Append] writes it as one
// line. Keys have a fixed order, times are in UTC with nine fractional digits, and data is
// verbatim, so equal events have equal bytes. [Decode] reads the events of other tools without
// loss. Unknown attributes are in [Event.Extra], and unknown payload fields in [Event.Data].
//
// To create an event, call [New], or fill an [Event] and call [Event.SetData]. [Event.Normalize]
// converts it into the published form and validates it, and pkg/publish calls it. Errors are
// [InvalidError], which never contain a value of the event.
//
// A [Manifest] lists a batch of events of one producer, with the [BatchRoot] of their hashes.
//
// An event in the stream has at most [MaxBytes], and Decode reads up to [MaxInputBytes]. Attributes
// have at most [MaxAttributeBytes] in total. Values are nested at most 512 deep. Time and memory
// are linear in the input.
//
// Goroutines can share values that no goroutine changes.
package events

// # Files
//
// Each kind of value has its own file:
//
//	event, attribute, data, kind, payload*, registry, shape       events and payloads
//	append, decode, direct, scan, text, time, record              the encoding
//	members, outcome                                              payloads that do not fit their kind
//	normalize, validate, invalid, fit, id                         what an event must be
//	manifest*, grant, tree                                        proofs about batches
