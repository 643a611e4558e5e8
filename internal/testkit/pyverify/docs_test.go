package pyverify_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func read(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The schema in the script is that of the document.
func TestDocs_Schema(t *testing.T) {
	_, schema, _ := strings.Cut(read(t, "testdata", "verify", "ledger.py"), "SCHEMA = \"\"\"\n")
	schema, _, _ = strings.Cut(schema, "\"\"\"")
	if formats := read(t, "..", "..", "..", "docs", "formats.md"); schema == "" || !strings.Contains(formats, "```sql\n"+schema+"```\n") {
		t.Errorf("docs/formats.md does not show the schema\n%s", schema)
	}
}

// The values in the documents, with which readers check their implementations, are right.
func TestDocs_Vectors(t *testing.T) {
	a, b := events.HashOf([]byte("a")), events.HashOf([]byte("b"))
	digest := sha256.Sum256(append(make([]byte, sha256.Size), a[:]...))
	digest = sha256.Sum256(append(digest[:], b[:]...))
	seal := events.RunSealedData{Count: 2, First: 1, Last: 2, Digest: hex.EncodeToString(digest[:])}
	leaf := ledger.Leaf{
		Class: ledger.ClassEvent, ID: "01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01", Producer: "coder/e4", Sequence: 97, Run: "r-42",
		Kind: events.ToolBefore, Time: time.Date(2026, 11, 20, 9, 14, 7, 123456789, time.UTC), Hash: events.HashOf([]byte("hello")),
	}
	var first, both ledger.Arrivals
	arrival := ledger.Arrival{Epoch: 1, Stream: 120331, Stored: 1763630047000000000}
	first.Add(arrival)
	both.Add(arrival)
	both.Add(ledger.Arrival{
		Epoch: 1, Stream: 120332, Stored: 1763630048000000000, Repeated: true, Sequence: 98, Hash: a[:], Producer: "coder/e4",
	})
	for page, vectors := range map[string][]string{
		"events.md":   {seal.Digest, seal.ID("acme", "coder/e4", "r-42"), events.BatchRoot([]events.Hash{a, b}).String()},
		"formats.md":  {string(leaf.Encode())},
		"verifier.md": {events.HashOf(append([]byte{0}, leaf.Encode()...)).String(), hex.EncodeToString(first.Digest[:]), hex.EncodeToString(both.Digest[:])},
	} {
		text := read(t, "..", "..", "..", "docs", page)
		for _, v := range vectors {
			if !strings.Contains(text, v) {
				t.Errorf("docs/%s does not have %s", page, v)
			}
		}
	}
}
