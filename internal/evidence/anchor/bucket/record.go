package bucket

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// record is what lies under the key of a lease:
//
//	{"holder":"web1-4FjX…","writer":"web1-4FjX…"}
//
// While nobody but the holder wants the lease, the holder wrote it last. A
// contender asks by writing itself beside the holder, who answers by taking it off.
// An empty holder has given the lease back.
type record struct {
	Holder string `json:"holder"`
	Writer string `json:"writer"`
}

const (
	maxName   = 256
	maxRecord = 4096
)

var errRecord = errors.New("not a lease")

func (r record) encode() []byte {
	data, _ := json.Marshal(r) //nolint:errchkjson // two strings: it cannot fail
	return data
}

// parseRecord reads a record. Members that a later version may add are passed over.
func parseRecord(data []byte) (record, error) {
	var r record
	if len(data) > maxRecord || !utf8.Valid(data) || json.Unmarshal(data, &r) != nil {
		return record{}, errRecord
	}
	if r.Writer == "" || len(r.Holder) > maxName || len(r.Writer) > maxName {
		return record{}, errRecord
	}
	return r, nil
}
