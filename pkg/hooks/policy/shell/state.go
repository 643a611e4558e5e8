package shell

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const holeName = "__hole__"

type value struct {
	text     string
	known    bool
	exported bool
}

type state struct {
	vars   map[string]value // variables that are not in the map come from the environment
	dir    string           // "" for the initial directory. It can contain a Hole
	params []Word           // "$@", nil if unknown
}

func newState() *state { return &state{vars: map[string]value{}} }

func (s *state) clone() *state { return &state{vars: maps.Clone(s.vars), dir: s.dir, params: s.params} }

func (s *state) child() *state {
	c := &state{vars: map[string]value{}, dir: s.dir}
	for name, v := range s.vars {
		if v.exported {
			c.vars[name] = v
		}
	}
	return c
}

func (s *state) merge(other *state) {
	s.mergeVars(other)
	if s.dir != other.dir {
		s.dir = Hole
	}
}

func (s *state) mergeVars(other *state) {
	if !slices.Equal(s.params, other.params) {
		s.params = nil
	}
	for name, v := range other.vars {
		if mine, ok := s.vars[name]; !ok || mine != v {
			s.vars[name] = value{}
		}
	}
	for name := range s.vars {
		if _, ok := other.vars[name]; !ok {
			s.vars[name] = value{}
		}
	}
}

func (s *state) set(name, text string, exported bool) {
	s.vars[name] = value{
		text:     text,
		known:    !strings.Contains(text, Hole),
		exported: exported || s.vars[name].exported,
	}
}

// maxParams limits the positional parameters, because a script can double their number again and
// again.
const maxParams = 256

func (s *state) positional(args []Word) {
	if s.params = args; len(args) > maxParams {
		s.params = nil
	}
	for i := 1; i <= 9; i++ {
		name := string(rune('0' + i))
		if delete(s.vars, name); i <= len(args) {
			s.set(name, args[i-1].Text, false)
		}
	}
}

func (s *state) shift(args []Word) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0].Text); err != nil {
			n = -1
		}
	}
	if s.params == nil || n < 0 || n > len(s.params) {
		s.positional(nil)
		return
	}
	s.positional(s.params[n:])
}

func setParams(args []Word, st *state) {
	dashes := slices.ContainsFunc(args, func(a Word) bool { return a.Text == "--" })
	for more := true; more; {
		_, args, more = options{short: "o", plus: true}.next(args)
	}
	if dashes || len(args) > 0 {
		st.positional(args)
	}
}

func (s *state) restore(name string, before *state) {
	if v, ok := before.vars[name]; ok {
		s.vars[name] = v
		return
	}
	delete(s.vars, name)
}

func (s *state) forget(name string) { s.vars[name] = value{} }

func (s *state) export(name string) {
	if v, ok := s.vars[name]; ok {
		v.exported = true
		s.vars[name] = v
	}
}

const numeric = " $ ? # ! UID EUID PPID RANDOM SRANDOM SECONDS LINENO BASHPID EPOCHSECONDS "

func (s *state) lookup(name string) string {
	if v, ok := s.vars[name]; ok {
		if !v.known {
			return Hole
		}
		return v.text
	}
	switch name {
	case "HOME":
		return HomeDir
	case "PWD":
		return s.here()
	case "TMPDIR":
		return TempDir
	case "IFS":
		return " \t\n"
	}
	if strings.Contains(numeric, " "+name+" ") {
		return "0"
	}
	return Hole
}

func (s *state) here() string {
	switch {
	case s.dir == "":
		return "."
	case path.IsAbs(s.dir):
		return s.dir
	}
	return "./" + s.dir
}

func (s *state) enter(dir string) { s.dir = within(s.dir, dir) }

func within(base, dir string) string {
	switch {
	case strings.HasPrefix(dir, Hole):
		return Hole
	case path.IsAbs(dir):
		return path.Clean(dir)
	case strings.Contains(base, Hole) && strings.Contains(dir, ".."):
		return Hole
	}
	switch dir = path.Join(base, dir); {
	case dir == ".":
		return ""
	case len(dir) > MaxPath: // no system opens such a directory, and each file name would be joined to it
		return Hole
	}
	return dir
}
