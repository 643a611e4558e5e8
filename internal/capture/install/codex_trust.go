package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

var codexTrust = trust{
	plan: func(c *Change, opts Options) ([]*Change, error) {
		return editCodex(c, opts, c.after, func(f *tomlFile, header, hash string) (*tomlFile, error) {
			return f.set(header, codexHashKey, hash)
		})
	},
	withdraw: func(c *Change, opts Options) ([]*Change, error) {
		return editCodex(c, opts, c.before, func(f *tomlFile, header, hash string) (*tomlFile, error) {
			if now, _ := f.get(header, codexHashKey); now != hash {
				return f, nil
			}
			return f.remove(header, codexHashKey)
		})
	},
}

const codexHashKey = "trusted_hash"

func editCodex(c *Change, opts Options, hooks []byte, edit func(f *tomlFile, header, hash string) (*tomlFile, error)) ([]*Change, error) {
	change, err := trustFile(c.Tool, below("CODEX_HOME", ".codex", "config.toml")(opts.Home, opts.Getenv))
	if err != nil {
		return nil, err
	}
	f, err := readTOML(string(change.before))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", change.File, err)
	}
	all, err := codexHashes(c, opts, hooks)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if f, err = edit(f, h.header, h.hash); err != nil {
			return nil, fmt.Errorf("%s: %w; open /hooks in Codex instead", change.File, err)
		}
	}
	if opts.Project != "" && !opts.Uninstall {
		if f, err = trustProject(f, opts.Project); err != nil {
			return nil, fmt.Errorf("%s: %w", change.File, err)
		}
	}
	change.after = []byte(f.String())
	if bytes.Equal(bytes.TrimSpace(change.after), bytes.TrimSpace(change.before)) {
		change.after = change.before
	}
	change.removed = len(change.after) == 0 && (len(change.before) > 0 || !change.exists)
	return []*Change{change}, nil
}

func trustProject(f *tomlFile, project string) (*tomlFile, error) {
	folder, err := realFolder(project)
	if err != nil {
		return nil, err
	}
	header := "[projects." + quotedJSON(folder) + "]"
	switch level, _ := f.get(header, "trust_level"); level {
	case `"trusted"`:
		return f, nil
	case "":
		return f.set(header, "trust_level", `"trusted"`)
	}
	return nil, fmt.Errorf("%s is marked as not trusted", folder)
}

type codexHash struct {
	header string // of the table in config.toml
	hash   string // as text of a TOML value
}

func codexHashes(c *Change, opts Options, hooks []byte) ([]codexHash, error) {
	if len(bytes.TrimSpace(hooks)) == 0 {
		return nil, nil
	}
	doc, err := parse(c.File, hooks)
	if err != nil {
		return nil, err
	}
	dir, err := realFolder(filepath.Dir(c.File))
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = filepath.Abs(filepath.Dir(c.File))
	}
	if err != nil {
		return nil, err
	}
	program, _ := firstWord(opts.Program)
	recognise := oursOf(c.Tool, "publisher", program)
	var all []codexHash
	for _, event := range items(orEmpty(member(doc.root, hooksKey))) {
		for _, at := range recognise.find(event.value) {
			at.handler = max(0, at.handler)
			hash, err := codexHashOf(event.key, items(event.value)[at.entry].value, at.handler)
			if err != nil {
				return nil, err
			}
			key := fmt.Sprintf("%s:%s:%d:%d", filepath.Join(dir, filepath.Base(c.File)), snake(event.key), at.entry, at.handler)
			all = append(all, codexHash{"[hooks.state." + quotedJSON(key) + "]", quotedJSON(hash)})
		}
	}
	return all, nil
}

func orEmpty(v *hujson.Value) *hujson.Value {
	if v == nil {
		return &hujson.Value{Value: &hujson.Object{}}
	}
	return v
}

// codexHashOf returns the hash that Codex computes for a hook. Codex hashes JSON with sorted keys
// and explicit default values.
func codexHashOf(event string, group *hujson.Value, handler int) (string, error) {
	var h map[string]any
	clean := items(member(group, hooksKey))[handler].value.Clone()
	clean.Standardize() //nolint:misspell // the name of the library
	clean.Minimize()    //nolint:misspell // the name of the library
	if err := json.Unmarshal(clean.Pack(), &h); err != nil {
		return "", err
	}
	if h["async"] == nil {
		h["async"] = false
	}
	identity := map[string]any{"event_name": snake(event), hooksKey: []any{h}}
	var b bytes.Buffer
	enc := json.NewEncoder(&b) // it sorts the keys of maps
	enc.SetEscapeHTML(false)
	if err := enc.Encode(identity); err != nil {
		return "", err
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func quotedJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "null" // unreachable: every string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
