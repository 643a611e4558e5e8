// Package events is the vocabulary of Hooktrail: the event, its kinds, their
// payloads, and the one encoding that everything else stores, hashes and signs.
//
// An event is a CloudEvents 1.0 event in JSON structured mode. [Event.Append]
// writes one line: keys in one fixed order, time in UTC with nine fractional
// digits, data verbatim. The bytes are the event, and two encodings of one event
// are equal. [Decode] keeps what it does not know, attributes in [Event.Extra]
// and payload fields in [Event.Data], so that a decode and encode round trip
// gives back the same bytes; what another tool wrote comes to a form that no
// longer changes, with every attribute and every data value kept.
//
// Who makes events fills an [Event] and [Event.SetData], or starts from [New].
// [Event.Normalize] then brings it into the form that is stored, and refuses what
// cannot be: pkg/publish does so for whatever is appended. An event that
// [Event.Validate] accepts has data that [Payload] can decode. Errors are
// [InvalidError]: they name the attribute and the byte, never a value.
//
// A [Manifest] closes a batch of events of one producer, with the [BatchRoot]
// over their hashes.
//
// An event has at most [MaxBytes] on the wire and [MaxInputBytes] when it is
// read, [MaxAttributeBytes] of attributes, and values nested 512 deep. Time and
// memory of all functions are linear in their input.
//
// Values of this package are plain data: safe to copy, and safe for concurrent
// use as long as nobody changes them. The package links google/uuid and the
// standard library only.
package events
