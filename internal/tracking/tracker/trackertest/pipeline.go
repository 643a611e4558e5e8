// Package trackertest provides a server and a data directory for tests of the tracker.
package trackertest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// A Pipeline contains a NATS server and a data directory for a tracker under test.
type Pipeline struct {
	TB      testing.TB
	Server  *natstest.Server
	DataDir string
}

// New starts a server with an empty stream.
func New(tb testing.TB, opts ...natstest.Options) *Pipeline {
	tb.Helper()
	return &Pipeline{TB: tb, Server: natstest.Listen(tb, tb.TempDir(), opts...), DataDir: tb.TempDir()}
}

// Publish publishes events as the producer with the given name.
func (p *Pipeline) Publish(name string, list ...events.Event) {
	p.TB.Helper()
	pub, err := publish.Open(p.TB.Context(), p.Server.Connect(p.TB), publish.Options{
		Dir: filepath.Join(p.TB.TempDir(), name), Name: name, Redactor: publish.NoRedaction,
	})
	if err != nil {
		p.TB.Fatal(err)
	}
	for _, e := range list {
		if _, err := pub.Append(p.TB.Context(), e); err != nil {
			p.TB.Fatal(err)
		}
	}
	if err := pub.Close(p.TB.Context()); err != nil {
		p.TB.Fatal(err)
	}
}

// Stored returns the valid events of one kind in the stream. If kind is empty, it returns the valid
// events of all kinds.
func (p *Pipeline) Stored(kind events.Kind) (list []events.Event) {
	p.TB.Helper()
	for _, m := range p.Server.Messages(p.TB) {
		a, err := p.Server.Space().Parse(m.Subject)
		if err != nil || a.Manifest || kind != "" && a.Kind != kind {
			continue
		}
		if e, err := events.Decode(m.Data); err == nil && e.Tenant == a.Tenant {
			list = append(list, e)
		}
	}
	return list
}

// ReadBeads reads a file with issues and returns them by id.
func ReadBeads(tb testing.TB, path string) map[string]beads.Issue {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	list := make(map[string]beads.Issue)
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var i beads.Issue
		if err := dec.Decode(&i); err != nil {
			tb.Fatal(err)
		}
		list[i.ID] = i
	}
	return list
}

// FilesWith returns the paths of the files below dir that contain the given text.
func FilesWith(tb testing.TB, dir, text string) (files []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}
