package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// written misses most files that other scripts or programs in other languages write.
func (s *script) written() []shell.File {
	s.writeOnce.Do(func() { s.writeList = s.findWritten() })
	return s.writeList
}

func (s *script) findWritten() []shell.File {
	files := slices.Clone(s.Writes)
	links, created := map[string]shell.File{}, []shell.File{}
	for _, cmd := range s.Commands {
		if asksForHelp(cmd) {
			continue
		}
		made := &files
		if cmd.Name == "ln" {
			link(cmd, links)
			made = &created
		}
		for _, word := range writesOf(cmd) {
			*made = append(*made, shell.File{Word: word, Dir: cmd.Dir})
		}
	}
	for _, code := range s.Code {
		for _, name := range opened(code) {
			files = append(files, shell.File{Word: shell.Word{Text: homed(name)}, Dir: s.start})
		}
	}
	files = append(files, throughLinks(files, links)...)
	files = append(files, created...)
	return slices.DeleteFunc(files, func(f shell.File) bool { return harmlessDevice[f.Text] || f.Text == "" })
}

func throughLinks(files []shell.File, links map[string]shell.File) []shell.File {
	var targets []shell.File
	for _, file := range files {
		if len(links) == 0 || len(file.Text) > shell.MaxPath {
			continue
		}
		full := fullPath(file.Text, file.Dir)
		for name := full; ; name = path.Dir(name) { // each directory above the file can be a link
			if target, ok := links[name]; ok {
				target.Text = path.Join(target.Text, strings.TrimPrefix(full, name))
				targets = append(targets, target)
			}
			if name == path.Dir(name) {
				break
			}
		}
	}
	return targets
}

var harmlessDevice = words("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/zero /dev/full - NUL nul $null")

func fullPath(name, dir string) string {
	if name = slashed(name); path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

func link(cmd shell.Command, links map[string]shell.File) {
	ops := optionTable{short: "tS", long: []string{"target-directory", "suffix"}}.sort(cmd.Args).operands
	if len(ops) == 2 {
		links[fullPath(ops[1].Text, cmd.Dir)] = shell.File{Word: ops[0], Dir: cmd.Dir}
		links[fullPath(path.Join(ops[1].Text, path.Base(ops[0].Text)), cmd.Dir)] = shell.File{Word: ops[0], Dir: cmd.Dir}
	}
}

type writer struct {
	table optionTable
	last  bool   // the last operand is the destination of the others
	all   bool   // every operand is written
	moves bool   // the sources are removed
	only  string // the program writes only with one of these short options, or with the option --in-place
	skip  int    // number of first operands that are not files
	into  string // short option whose value is the destination
}

var copyOptions = optionTable{short: "tSmog", long: []string{"target-directory", "suffix", "mode", "owner", "group"}}

var writers = map[string]writer{
	"cp": {table: copyOptions, last: true, into: "t"}, "install": {table: copyOptions, last: true, into: "t"},
	"mv": {table: copyOptions, last: true, into: "t", moves: true}, "ln": {table: copyOptions, last: true, into: "t"},
	"rsync": {table: optionTable{short: "ef", long: []string{"exclude", "include", "rsh", "filter"}}, last: true},
	"scp":   {table: optionTable{short: "iPoFlcJS"}, last: true},
	"tee":   {all: true}, "touch": {table: optionTable{short: "dtr"}, all: true}, "truncate": {table: optionTable{short: "sr"}, all: true},
	"unlink": {all: true},
	"sed":    {table: optionTable{short: "efl", long: []string{"expression", "file"}}, all: true, only: "i", skip: 1},
	"perl":   {table: optionTable{short: "eEIM"}, all: true, only: "i"},
	"ruby":   {table: optionTable{short: "eIr"}, all: true, only: "i"},
	"sort":   {table: optionTable{short: "kStT"}, into: "o"}, "curl": {into: "o"}, "wget": {into: "O"},
	"tar": {into: "C", only: "x"}, "unzip": {into: "d"}, "patch": {table: optionTable{short: "pid"}, all: true},
	"out-file": {all: true}, "set-content": {all: true}, "add-content": {all: true},
}

func writesOf(cmd shell.Command) []shell.Word {
	if cmd.Name == "dd" {
		return ddWrites(cmd.Args)
	}
	w, ok := writers[cmd.Name]
	if !ok {
		return outsideOf(cmd)
	}
	args := w.table.sort(cmd.Args)
	if cmd.Name == "tar" && len(cmd.Args) > 0 && !strings.HasPrefix(cmd.Args[0].Text, "-") {
		args.short += cmd.Args[0].Text // letters without a dash, as in "tar xz"
	}
	if w.only != "" && !args.has(w.only) && !args.exact("in-place") && !args.exact("extract") {
		return nil
	}
	if dest := w.destinations(cmd.Args); len(dest) > 0 {
		return dest
	}
	return w.operands(cmd.Name, args)
}

func (w writer) operands(name string, args arguments) []shell.Word {
	ops := args.operands
	if len(ops) > 0 && ops[0].Text == "" { // the empty suffix of "sed -i ''" on a Mac
		ops = ops[1:]
	}
	if script := args.has("ef") || args.exact("expression") || args.exact("file"); !script {
		ops = ops[min(w.skip, len(ops)):]
	}
	switch {
	case w.all, w.moves:
		return ops
	case w.last && len(ops) > 1:
		return localOnly(name, ops[len(ops)-1])
	case name == "ln" && len(ops) == 1:
		return []shell.Word{{Text: path.Base(ops[0].Text)}}
	}
	return nil
}

func localOnly(name string, dest shell.Word) []shell.Word {
	if (name == "scp" || name == "rsync") && strings.Contains(dest.Text, ":") {
		return nil
	}
	return []shell.Word{dest}
}

var changers = words("rm rmdir mkdir chmod chown chgrp setfacl shred gzip sponge ed ex vi vim nano rimraf trash srm")

func outsideOf(cmd shell.Command) []shell.Word {
	var files []shell.Word
	for i, a := range cmd.Args {
		name, value, has := strings.Cut(a.Text, "=")
		switch {
		case changers[cmd.Name] && !strings.HasPrefix(a.Text, "-"):
			files = append(files, a)
		case has && outputOptions[name]:
			files = append(files, shell.Word{Text: value, Open: a.Open})
		case i > 0 && outputOptions[cmd.Args[i-1].Text] && !outputReads[cmd.Name]:
			files = append(files, a)
		}
	}
	return slices.DeleteFunc(files, func(f shell.Word) bool {
		return !path.IsAbs(f.Text) && !strings.HasPrefix(f.Text, "..") && (cmd.Name == "rm" || !changesGuardFile(f.Text))
	})
}

func changesGuardFile(name string) bool { return changesGuard(path.Clean(name)).what != "" }

var outputOptions = words("-o -out --out --output --output-file --outfile --target --prefix")

var outputReads = words("grep egrep rg ps ls docker kubectl gcloud az aws ssh mount set bash sh helm gh")

var longDestinations = words("--target-directory --output --output-document --directory --one-top-level --output-dir")

func (w writer) destinations(args []shell.Word) []shell.Word {
	if w.into == "" {
		return nil
	}
	var dest []shell.Word
	for i, a := range args {
		value, next := w.destination(a)
		switch {
		case value.Text != "":
			dest = append(dest, value)
		case next && i+1 < len(args):
			dest = append(dest, args[i+1])
		}
	}
	return dest
}

func (w writer) destination(a shell.Word) (value shell.Word, next bool) {
	name, text, has := strings.Cut(a.Text, "=")
	if longDestinations[name] {
		return shell.Word{Text: text, Open: a.Open, Glob: a.Glob}, !has
	}
	if len(a.Text) < 2 || a.Text[0] != '-' || a.Text[1] == '-' {
		return shell.Word{}, false
	}
	at := strings.IndexAny(a.Text, w.into)
	if at == 1 {
		return shell.Word{Text: a.Text[2:], Open: a.Open, Glob: a.Glob}, len(a.Text) == 2
	}
	return shell.Word{}, at == len(a.Text)-1
}

func ddWrites(args []shell.Word) []shell.Word {
	for _, a := range args {
		if name, ok := strings.CutPrefix(a.Text, "of="); ok {
			return []shell.Word{{Text: name, Open: a.Open}}
		}
	}
	return nil
}

var opensFile = regexp.MustCompile(`\b(?:open\(\s*['"]([^'"]+)['"]\s*,\s*(?:mode\s*=\s*)?['"][rbt]*[wax+]` +
	`|(?:write|append)File(?:Sync)?\(\s*['"]([^'"]+)['"]|Path\(\s*['"]([^'"]+)['"]\s*\)\.write_|File\.write\(\s*['"]([^'"]+)['"]` +
	`|file_put_contents\(\s*['"]([^'"]+)['"]|createWriteStream\(\s*['"]([^'"]+)['"])`)

var writesCall = regexp.MustCompile(`write|['"][rbt]*[wax]\+?b?['"]|append`)

func opened(code string) []string {
	var names []string
	for _, match := range opensFile.FindAllStringSubmatch(code, -1) {
		names = append(names, strings.Join(match[1:], ""))
	}
	if writesCall.MatchString(code) && namesHome.MatchString(code) {
		for _, text := range shell.Literals(code) {
			if rest := strings.TrimPrefix(strings.TrimPrefix(text, "~"), "/"); strings.HasPrefix(rest, ".") && !strings.ContainsAny(rest, " \n") {
				names = append(names, "~/"+rest)
			}
		}
	}
	return names
}
