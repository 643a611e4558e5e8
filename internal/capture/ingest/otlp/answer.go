package otlp

import (
	"encoding/binary"
	"strconv"
)

// Answer encodes the body of a response with status 200. The body states how many items were
// rejected, and why the first one was.
func Answer(s Signal, media string, rejected int, why string) []byte {
	if media == Protobuf {
		if rejected == 0 {
			return nil
		}
		partial := appendField(binary.AppendUvarint([]byte{1 << 3}, uint64(rejected)), 2, why)
		return appendField(nil, 1, string(partial))
	}
	if rejected == 0 {
		return []byte("{}\n")
	}
	name := "rejectedSpans"
	if s == Logs {
		name = "rejectedLogRecords"
	}
	return append(encode(map[string]any{
		"partialSuccess": map[string]string{name: strconv.Itoa(rejected), "errorMessage": why},
	}), '\n')
}

// Refusal encodes a gRPC status, which is the body of an error response.
func Refusal(media string, code int, why string) []byte {
	if media == Protobuf {
		return appendField(binary.AppendUvarint([]byte{1 << 3}, uint64(code)), 2, why)
	}
	return append(encode(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, why}), '\n')
}

func appendField(b []byte, number int, value string) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}
