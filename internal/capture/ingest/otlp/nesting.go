package otlp

import (
	"encoding/binary"
	"fmt"
)

type message int

const (
	tracesRequest message = iota
	logsRequest
	resourceSpans
	resourceLogs
	scopeSpans
	scopeLogs
	aboutResource
	aboutScope
	spanMessage
	spanEvent
	spanLink
	entityRef
	logRecord
	attribute
	value
	listValue
	mapValue
)

var inside = map[message]map[uint64]message{
	tracesRequest: {1: resourceSpans},
	logsRequest:   {1: resourceLogs},
	resourceSpans: {1: aboutResource, 2: scopeSpans, 1000: scopeSpans}, // 1000: before OTLP 1.0
	resourceLogs:  {1: aboutResource, 2: scopeLogs, 1000: scopeLogs},
	scopeSpans:    {1: aboutScope, 2: spanMessage},
	scopeLogs:     {1: aboutScope, 2: logRecord},
	aboutResource: {1: attribute, 3: entityRef},
	aboutScope:    {3: attribute},
	spanMessage:   {9: attribute, 11: spanEvent, 13: spanLink},
	spanEvent:     {3: attribute},
	spanLink:      {4: attribute},
	logRecord:     {5: value, 6: attribute},
	attribute:     {2: value},
	value:         {5: listValue, 6: mapValue},
	listValue:     {1: value},
	mapValue:      {1: attribute},
}

const maxMessages = 512

// check limits the nesting of a request, because the protobuf decoder recurses without a limit. A
// stack overflow would end the process.
func (n *items) check(m message, body []byte, depth int) error {
	if err := n.add(depth); err != nil {
		return err
	}
	for len(body) > 0 {
		number, content, after, ok := nextField(body)
		if !ok {
			return fmt.Errorf("%w: not protobuf", ErrDocument)
		}
		body = after
		if in, ok := inside[m][number]; ok {
			if err := n.check(in, content, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

const maxField = 1<<29 - 1

func nextField(b []byte) (number uint64, content, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag>>3 == 0 || tag>>3 > maxField {
		return 0, nil, nil, false
	}
	number, b = tag>>3, b[n:]
	var size uint64
	switch tag & 7 {
	case 0: // varint
		_, n = binary.Uvarint(b)
		size = uint64(max(n, 0))
		ok = n > 0
	case 1: // 64 bits
		size, ok = 8, true
	case 2: // length-delimited
		size, n = binary.Uvarint(b)
		if ok = n > 0; ok {
			b = b[n:]
		}
	case 5: // 32 bits
		size, ok = 4, true
	}
	if !ok || size > uint64(len(b)) {
		return 0, nil, nil, false
	}
	if tag&7 == 2 {
		content = b[:size]
	}
	return number, content, b[size:], true
}
