package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

const hooksKey = "hooks"

const hookProgram = "hooktrail-hook"

type ours struct {
	tool     string
	programs []string // names without folders
}

func oursOf(tool string, programs ...string) ours {
	o := ours{tool: tool}
	for _, p := range programs {
		o.programs = append(o.programs, baseName(p))
	}
	return o
}

func (o ours) wrote(command string) bool {
	program, args := firstWord(innerCommand(command))
	start, known := " hook "+o.tool, slices.Contains(o.programs, baseName(program))
	if baseName(program) == hookProgram {
		start, known = " "+o.tool, true
	}
	args, ok := strings.CutPrefix(args, start)
	return ok && known && (args == "" || strings.ContainsAny(args[:1], " \t;"))
}

var commandKeys = []string{"command", "bash", "powershell"}

func (o ours) is(v *hujson.Value) bool {
	return slices.ContainsFunc(commandKeys, func(key string) bool {
		c := member(v, key)
		return kind(c) == kindText && o.wrote(literal(c))
	})
}

type position struct {
	entry   int
	handler int // -1 for the whole entry
}

func (o ours) find(entries *hujson.Value) (found []position) {
	for i, entry := range items(entries) {
		if o.is(entry.value) {
			found = append(found, position{i, -1})
			continue
		}
		group := member(entry.value, hooksKey)
		if kind(group) != kindList {
			continue
		}
		handlers := items(group)
		for j, h := range handlers {
			switch {
			case !o.is(h.value):
			case len(handlers) > 1:
				found = append(found, position{i, j})
			default:
				found = append(found, position{i, -1})
			}
		}
	}
	return found
}

type editor struct {
	doc  *document
	ours ours
}

func (e *editor) hooks() (*hujson.Value, error) {
	if kind(e.doc.root) != kindObject {
		return nil, e.doc.wrong(e.doc.root.StartOffset, "an object is expected here")
	}
	h := member(e.doc.root, hooksKey)
	if h != nil && kind(h) != kindObject {
		return nil, e.doc.wrong(h.StartOffset, `"hooks" is not an object`)
	}
	return h, nil
}

func (e *editor) event(name string) (*hujson.Value, error) {
	h, err := e.hooks()
	if err != nil {
		return nil, err
	}
	v := member(h, name)
	if v != nil && kind(v) != kindList {
		return nil, e.doc.wrong(v.StartOffset, fmt.Sprintf("the hooks of %q are not a list", name))
	}
	return v, nil
}

func (e *editor) put(name string, entry any) error {
	v, err := e.event(name)
	if err != nil {
		return err
	}
	if v != nil {
		found := e.ours.find(v)
		if len(found) == 1 && found[0].handler < 0 && e.doc.equal(items(v)[found[0].entry].value, entry) {
			return nil
		}
		if err := e.remove(name, found); err != nil {
			return err
		}
	}
	return e.add(name, entry)
}

func (e *editor) add(name string, entry any) (err error) {
	h, err := e.hooks()
	if err != nil {
		return err
	}
	v, err := e.event(name)
	switch {
	case err != nil:
		return err
	case h == nil:
		e.doc, err = e.doc.added(e.doc.root, hooksKey, map[string][]any{name: {entry}})
	case v == nil:
		e.doc, err = e.doc.added(h, name, []any{entry})
	default:
		e.doc, err = e.doc.added(v, "", entry)
	}
	return err
}

func (e *editor) remove(name string, found []position) error {
	for _, at := range slices.Backward(found) {
		from, err := e.event(name)
		if err != nil {
			return err
		}
		i := at.entry
		if at.handler >= 0 {
			from, i = member(items(from)[i].value, hooksKey), at.handler
		}
		if e.doc, err = e.doc.removed(from, i); err != nil {
			return err
		}
	}
	return nil
}

func (e *editor) clear(wanted []string) error {
	h, err := e.hooks()
	if err != nil || h == nil {
		return err
	}
	emptied := false
	for _, it := range items(h) {
		if kind(it.value) != kindList || slices.Contains(wanted, it.key) {
			continue
		}
		found := e.ours.find(it.value)
		if len(found) == 0 {
			continue
		}
		if err := e.remove(it.key, found); err != nil {
			return err
		}
		if err := e.prune(member(e.doc.root, hooksKey), it.key); err != nil {
			return err
		}
		emptied = true
	}
	if !emptied {
		return nil
	}
	return e.prune(e.doc.root, hooksKey)
}

func (e *editor) prune(of *hujson.Value, key string) (err error) {
	if i := index(of, key); e.doc.bare(items(of)[i].value) {
		e.doc, err = e.doc.removed(of, i)
	}
	return err
}

// equal returns false for a value with comments, so that a person's comments are not replaced.
func (d *document) equal(is *hujson.Value, v any) bool {
	var want, got bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false) // as in encoded
	err := enc.Encode(v)
	return err == nil && json.Compact(&got, d.data[is.StartOffset:is.EndOffset]) == nil &&
		bytes.Equal(got.Bytes(), bytes.TrimSuffix(want.Bytes(), []byte("\n")))
}
