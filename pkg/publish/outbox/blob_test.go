package outbox

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// assemble joins the chunks of each blob. The keys of blobs are their hashes.
func assemble(tb testing.TB, list []events.Event) (blobs map[string][]byte, rest []events.Event) {
	tb.Helper()
	blobs = map[string][]byte{}
	for _, e := range list {
		if e.Kind() != events.BlobChunk {
			rest = append(rest, e)
			continue
		}
		d, err := events.Payload[events.BlobChunkData](e)
		if err != nil {
			tb.Fatal(err)
		}
		if len(rest) > 0 && d.Index == 0 {
			blobs[d.SHA256] = nil
		}
		if len(blobs[d.SHA256]) != d.Index*events.BlobChunkBytes || len(d.Content) > events.BlobChunkBytes {
			tb.Fatalf("chunk %d of %d is out of place", d.Index, d.Chunks)
		}
		blobs[d.SHA256] = append(blobs[d.SHA256], d.Content...)
	}
	for sum, content := range blobs {
		if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
			tb.Errorf("blob of %d bytes has another hash", len(content))
		}
	}
	return blobs, rest
}

//guarantee:event-large
func TestBlob(t *testing.T) {
	random := make([]byte, 3<<20)
	_, _ = rand.Read(random)
	object := func(fields ...string) []byte { return []byte("{" + strings.Join(fields, ",") + "}") }
	text := func(n int) string { return `"` + strings.Repeat("é", n/2) + `"` }
	for _, tt := range []struct {
		name  string
		event func(*events.Event)
		moved []string // fields
	}{
		{"1.1MiB", func(e *events.Event) { e.Data = object(`"tool":"T"`, `"args":`+text(1_153_434)) }, []string{"args"}},
		{"20MiB", func(e *events.Event) { e.Data = object(`"args":`+text(race.Size(20<<20, 3<<20)), `"tool":"T"`) }, []string{"args"}},
		{"OnlyLargest", func(e *events.Event) {
			e.Data = object(`"tool":"T"`, `"small":`+text(300_000), `"args":`+text(800_000))
		}, []string{"args"}},
		{"Several", func(e *events.Event) {
			e.Data = object(`"tool":"T"`, `"args":`+text(1_500_000), `"other":`+text(1_200_000), `"raw":`+text(400_000))
		}, []string{"args", "other"}},
		{"Required", func(e *events.Event) {
			e.Type, e.Data = events.PromptSubmit.Type(), object(`"prompt":`+text(2<<20))
		}, []string{"prompt"}},
		{"ManySmall", func(e *events.Event) {
			fields := []string{`"blobs":{"old":{"sha256":"` + strings.Repeat("0", 64) + `","bytes":1}}`}
			for i := range 30_000 {
				fields = append(fields, fmt.Sprintf(`"field%d":%s`, i, text(60)))
			}
			e.Type, e.Data = "com.example.wide", object(fields...)
		}, []string{""}},
		{"NoObject", func(e *events.Event) {
			e.Type, e.Data = "com.example.list", []byte("["+text(2<<20)+"]")
		}, []string{""}},
		{"Binary", func(e *events.Event) {
			e.Type, e.Data, e.Binary = "com.example.picture", nil, random
		}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := natstest.Start(t, natstest.Options{MaxBytes: 256 << 20})
			p := mustOpen(t, srv.Connect(t), testOptions(t, t.TempDir()))
			before := newEvent(1)
			tt.event(&before)
			large := before
			stored := mustAppend(t, p, large)
			mustAppend(t, p, newEvent(2))
			mustClose(t, p)
			blobs, rest := assemble(t, checkStream(t, srv).events)
			if len(rest) != 2 || rest[0].ID != "event-1" || rest[1].ID != "event-2" {
				t.Fatalf("got %d events besides the blobs", len(rest))
			}
			if !bytes.Equal(rest[0].Encode(), stored.Encode()) {
				t.Error("Append returned another event than it stored")
			}
			var data map[string]json.RawMessage
			if err := json.Unmarshal(rest[0].Data, &data); err != nil {
				t.Fatal(err)
			}
			var refs map[string]events.BlobRef
			if err := json.Unmarshal(data["blobs"], &refs); err != nil {
				t.Fatal(err)
			}
			if len(refs) != len(tt.moved) || len(blobs) != len(tt.moved) {
				t.Errorf("moved %d fields, want %q", len(refs), tt.moved)
			}
			var original map[string]json.RawMessage
			_ = json.Unmarshal(before.Data, &original)
			for _, name := range tt.moved {
				want := []byte(original[name])
				switch {
				case before.Binary != nil:
					want = before.Binary
				case name == "":
					want = before.Data
				}
				if !bytes.Equal(blobs[refs[name].SHA256], want) || refs[name].Bytes != int64(len(want)) {
					t.Errorf("field %q came back different", name)
				}
			}
		})
	}
}
