package bundletest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Opened is an unpacked bundle whose files tests can change.
type Opened struct {
	tb    testing.TB
	Names []string
	Files map[string]string
}

// Open unpacks the bundle at path.
func Open(tb testing.TB, path string) *Opened {
	tb.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = z.Close() }() // it was only read
	o := &Opened{tb: tb, Files: make(map[string]string)}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			tb.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			tb.Fatal(err)
		}
		o.Names, o.Files[f.Name] = append(o.Names, f.Name), string(data)
	}
	return o
}

// Clone returns a copy of the bundle whose methods report errors to tb.
func (o *Opened) Clone(tb testing.TB) *Opened {
	tb.Helper()
	return &Opened{tb: tb, Names: slices.Clone(o.Names), Files: maps.Clone(o.Files)}
}

// Pack returns the bundle as a zip file. It recomputes the checksums in SHA256SUMS, so that
// changed files match them.
func (o *Opened) Pack() []byte {
	o.tb.Helper()
	var sums strings.Builder
	for _, name := range o.Names {
		if name != "SHA256SUMS" {
			sums.WriteString(o.sum(name) + "  " + name + "\n")
		}
	}
	o.Files["SHA256SUMS"] = sums.String()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range o.Names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, o.Files[name])
		}
		if err != nil {
			o.tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		o.tb.Fatal(err)
	}
	return out.Bytes()
}

func (o *Opened) sum(name string) string {
	h := sha256.Sum256([]byte(o.Files[name]))
	return hex.EncodeToString(h[:])
}

// Lines returns the lines of a file without their line feeds.
func (o *Opened) Lines(name string) []string {
	text := strings.TrimSuffix(o.Files[name], "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// SetLines replaces the lines of a file.
func (o *Opened) SetLines(name string, lines []string) {
	o.Files[name] = strings.Join(lines, "\n")
	if len(lines) > 0 {
		o.Files[name] += "\n"
	}
}

// Edit parses each line of a file as a JSON object, calls edit with the object, and stores the
// changed object.
func (o *Opened) Edit(name string, edit func(line map[string]any)) {
	o.tb.Helper()
	lines := o.Lines(name)
	for i, line := range lines {
		var v map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			o.tb.Fatal(err)
		}
		edit(v)
		lines[i] = o.json(v)
	}
	o.SetLines(name, lines)
}

// EditAbout calls edit with the JSON object in bundle.json, and stores the changed object.
func (o *Opened) EditAbout(edit func(about map[string]any)) {
	o.tb.Helper()
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(o.Files["bundle.json"]))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		o.tb.Fatal(err)
	}
	edit(v)
	o.Files["bundle.json"] = o.json(v) + "\n"
}

func (o *Opened) json(v any) string {
	o.tb.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		o.tb.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
