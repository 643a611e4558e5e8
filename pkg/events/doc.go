// Package events is the vocabulary of Hooktrail: the event, its kinds, their
// payloads, and the one encoding that everything else stores, hashes and signs.
//
// An event is a CloudEvents 1.0 event in JSON structured mode. [Event.Append]
// writes its keys in one fixed order, its time in UTC with nine fractional
// digits, and its data verbatim: the bytes are the event, and two encodings of
// one event are equal. [Decode] keeps what it does not know, attributes in
// [Event.Extra] and payload fields in [Event.Data], so that a decode and encode
// round trip gives back the same bytes.
//
// Values of this package are plain data: safe to copy, and safe for concurrent
// use as long as nobody changes them. The package links google/uuid and the
// standard library only.
package events
