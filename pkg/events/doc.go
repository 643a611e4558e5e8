// Package events defines events, their kinds and payloads, and their encoding. All other packages
// store, hash and sign the bytes of this encoding.
//
// An event is a CloudEvents 1.0 event in JSON structured mode. [Event.Append] writes it as one line
// with a fixed order of keys, UTC times with nine fractional digits, and verbatim data, so that
// equal events have equal bytes. [Decode] reads the events of other tools without loss. It keeps
// unknown attributes in [Event.Extra] and unknown payload fields in [Event.Data].
//
// To create an event, fill an [Event] and call [Event.SetData], or start with [New]. pkg/publish
// calls [Event.Normalize], which converts the event into the published form and validates it.
// Errors are [InvalidError], which contain the attribute and the byte position, but no value.
//
// A [Manifest] lists a batch of events of one producer with the [BatchRoot] over their hashes.
//
// An event in the stream has at most [MaxBytes]. Decode reads up to [MaxInputBytes]. Attributes
// have at most [MaxAttributeBytes] in total. Values are nested at most 512 deep. All functions need
// time and memory linear in their input.
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
