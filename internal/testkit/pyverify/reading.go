package pyverify

import (
	"errors"
	"testing"
)

// Reading is what a record says to a verifier. Some numbers do not fit a number of JSON, so they
// are texts.
type Reading struct {
	Event    bool `json:"event"`
	Manifest bool `json:"manifest"`

	ID       string `json:"id"`
	Producer string `json:"producer"`
	Run      string `json:"runid"`
	Kind     string `json:"kind"`
	Time     string `json:"time"`
	Tenant   string `json:"tenant"`
	ToolCall string `json:"toolcall"`
	User     string `json:"userid"`
	Sequence string `json:"sequence"`

	Denies   bool     `json:"denies"`
	Succeeds bool     `json:"succeeds"`
	Numbers  []string `json:"numbers"` // of a seal, gap or loss that counts
	Texts    []string `json:"texts"`
	Order    string   `json:"order"`
	Chunk    []string `json:"chunk"` // whole, part, content and cut
}

// Read returns what a record says to the script.
func (v *Verifier) Read(tb testing.TB, record []byte) (r Reading) {
	tb.Helper()
	var answer struct {
		Reading
		Error string `json:"error"`
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	question := map[string][]byte{"read": record}
	if err := errors.Join(v.in.Encode(question), v.out.Decode(&answer)); err != nil || answer.Error != "" {
		tb.Fatalf("second verifier: record %q: %v %s", record, err, answer.Error)
	}
	return answer.Reading
}
