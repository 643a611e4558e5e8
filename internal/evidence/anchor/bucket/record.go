package bucket

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// record is the JSON value of a lease:
//
//	{"holder":"web1-4FjX…","writer":"web1-4FjX…"}
//
// A candidate challenges the holder by writing its own name as writer. The holder answers by
// restoring its name. A released lease has an empty holder.
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
	data, _ := json.Marshal(r) //nolint:errchkjson // two strings never fail
	return data
}

// parseRecord ignores unknown members, because a later version may add some.
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
