package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// hooksKey is the member of a configuration that has the hooks.
const hooksKey = "hooks"

// ours tells the hooks of a tool that this package wrote.
type ours struct {
	tool     string
	programs []string // their names, without folders
}

// oursOf returns what tells the hooks of a tool: commands that begin with a
// program of one of these names.
func oursOf(tool string, programs ...string) ours {
	o := ours{tool: tool}
	for _, p := range programs {
		o.programs = append(o.programs, baseName(p))
	}
	return o
}

// wrote tells whether a command is ours.
func (o ours) wrote(command string) bool {
	program, rest := firstWord(command)
	rest, ok := strings.CutPrefix(rest, " hook "+o.tool)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " \t")) && slices.Contains(o.programs, baseName(program))
}

// commandKeys are where a handler has its command.
var commandKeys = []string{"command", "bash", "powershell"}

// is tells whether a handler is ours.
func (o ours) is(v *value) bool {
	return slices.ContainsFunc(commandKeys, func(key string) bool {
		c := v.member(key)
		return c != nil && c.shape == text && o.wrote(c.text)
	})
}

// find returns our hooks in the list of an event: for each the index of its
// entry and, where the entry is a group that others are in too, its index there.
func (o ours) find(entries *value) (found [][2]int) {
	for i, entry := range entries.items {
		group := entry.value.member(hooksKey)
		switch {
		case o.is(entry.value):
			found = append(found, [2]int{i, -1})
		case group != nil && group.shape == list:
			for j, h := range group.items {
				if o.is(h.value) && len(group.items) > 1 {
					found = append(found, [2]int{i, j})
				} else if o.is(h.value) {
					found = append(found, [2]int{i, -1})
				}
			}
		}
	}
	return found
}

// editor changes the hooks of a document, one place after the other.
type editor struct {
	doc  *document
	ours ours
}

// hooks returns the object of hooks; nil if there is none.
func (e *editor) hooks() (*value, error) {
	if e.doc.root.shape != object {
		return nil, e.doc.wrong(e.doc.root.start, "an object is expected here")
	}
	h := e.doc.root.member(hooksKey)
	if h != nil && h.shape != object {
		return nil, e.doc.wrong(h.start, `"hooks" is no object`)
	}
	return h, nil
}

// event returns the list of an event; nil if there is none.
func (e *editor) event(name string) (*value, error) {
	h, err := e.hooks()
	if err != nil {
		return nil, err
	}
	v := h.member(name)
	if v != nil && v.shape != list {
		return nil, e.doc.wrong(v.start, fmt.Sprintf("hooks of %q are no list", name))
	}
	return v, nil
}

// put has entry in the list of an event, once: what is ours and otherwise goes.
func (e *editor) put(name string, entry any) error {
	v, err := e.event(name)
	if err != nil {
		return err
	}
	if v != nil {
		found := e.ours.find(v)
		if len(found) == 1 && found[0][1] < 0 && e.doc.same(v.items[found[0][0]].value, entry) {
			return nil
		}
		if err := e.take(name, found); err != nil {
			return err
		}
	}
	return e.add(name, entry)
}

// add adds entry to the list of an event.
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

// take removes our hooks of an event.
func (e *editor) take(name string, found [][2]int) error {
	for _, f := range slices.Backward(found) {
		v, err := e.event(name)
		if err != nil {
			return err
		}
		from, i := v, f[0]
		if f[1] >= 0 {
			from, i = v.items[i].value.member(hooksKey), f[1]
		}
		if e.doc, err = e.doc.removed(from, i); err != nil {
			return err
		}
	}
	return nil
}

// clear removes our hooks of all events but those that are kept, and what has
// become empty by that.
func (e *editor) clear(kept []string) error {
	h, err := e.hooks()
	if err != nil || h == nil {
		return err
	}
	var names []string
	for _, it := range h.items {
		if it.value.shape == list && !slices.Contains(kept, it.key) {
			names = append(names, it.key)
		}
	}
	emptied := false
	for _, name := range names {
		v, err := e.event(name)
		if err != nil {
			return err
		}
		found := e.ours.find(v)
		if len(found) == 0 {
			continue
		}
		if err := e.take(name, found); err != nil {
			return err
		}
		if err := e.prune(func(root *value) (*value, int) {
			h := root.member(hooksKey)
			return h, h.index(name)
		}); err != nil {
			return err
		}
		emptied = true
	}
	if !emptied {
		return nil
	}
	return e.prune(func(root *value) (*value, int) { return root, root.index(hooksKey) })
}

// prune removes an item whose value holds nothing.
func (e *editor) prune(place func(root *value) (*value, int)) (err error) {
	of, i := place(e.doc.root)
	if e.doc.bare(of.items[i].value) {
		e.doc, err = e.doc.removed(of, i)
	}
	return err
}

// same tells whether a value of the document says what v does.
func (d *document) same(is *value, v any) bool {
	want, err := json.Marshal(v)
	var got bytes.Buffer
	return err == nil && json.Compact(&got, d.data[is.start:is.end]) == nil && bytes.Equal(got.Bytes(), want)
}
