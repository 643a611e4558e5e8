// Package events defines events, their kinds and payloads, and their encoding. All other
// packages store, hash and sign the bytes of this encoding.
//
// An event is a CloudEvents 1.0 event in JSON structured mode. [Event.Append] writes it
// as one line with a fixed order of keys, UTC times with nine fractional digits, and
// verbatim data. Equal events have equal bytes. [Decode] keeps unknown attributes in
// [Event.Extra] and unknown payload fields in [Event.Data]. Decoding and encoding an
// event of this package returns the same bytes. An event of another tool is brought into
// this form, with all attributes and data values.
//
// To create an event, fill an [Event] and call [Event.SetData], or start with [New].
// [Event.Normalize] brings it into the stored form and validates it. pkg/publish
// normalises each event that it appends. [Payload] can decode the data of every valid
// event. Errors are [InvalidError]. They name the attribute and the byte, but contain no
// value.
//
// A [Manifest] lists a batch of events of one producer with the [BatchRoot] over their
// hashes.
//
// An encoded event has at most [MaxBytes]. Decode reads up to [MaxInputBytes]. Attributes
// have at most [MaxAttributeBytes] in total. Values are nested at most 512 deep. All
// functions need time and memory linear in their input.
//
// Values of this package are plain data. They can be copied, and used concurrently while
// no goroutine changes them. The package links only google/uuid and the standard library.
package events
