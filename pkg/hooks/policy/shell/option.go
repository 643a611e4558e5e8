package shell

import "strings"

type options struct {
	flags    string // short options without a value. Unlisted letters may have one
	short    string // short options whose value is attached or the next word
	attached string // short options whose value is always attached
	long     string // long options whose value is the next word, separated by spaces
	plus     bool   // options can begin with + too
}

type option struct {
	letters string // such as "xvf"
	long    string
	value   Word // value of the long option or of the last letter
	valued  bool
	unsure  bool // the next word may be the value of an unknown letter
}

func (o option) last() byte {
	if o.letters == "" {
		return 0
	}
	return o.letters[len(o.letters)-1]
}

func (s options) next(args []Word) (opt option, rest []Word, ok bool) {
	if len(args) == 0 {
		return option{}, nil, false
	}
	text := args[0].Text
	switch {
	case text == "--":
		return option{}, args[1:], false
	case strings.HasPrefix(text, "--"):
		return s.longOption(args)
	case strings.HasPrefix(text, "-"), s.plus && strings.HasPrefix(text, "+"):
		return s.cluster(args)
	}
	return option{}, args, false
}

func (s options) longOption(args []Word) (option, []Word, bool) {
	name, value, has := strings.Cut(args[0].Text, "=")
	opt := option{long: name, valued: has, value: Word{Text: value, Fed: args[0].Fed}}
	rest := args[1:]
	if !has && strings.Contains(s.long, " "+name+" ") && len(rest) > 0 {
		opt.value, opt.valued, rest = rest[0], true, rest[1:]
	}
	return opt, rest, true
}

func (s options) cluster(args []Word) (option, []Word, bool) {
	letters, rest := args[0].Text[1:], args[1:]
	for i := range len(letters) {
		c := letters[i]
		takes := strings.IndexByte(s.short, c) >= 0
		if !takes && strings.IndexByte(s.attached, c) < 0 {
			continue
		}
		opt := option{letters: letters[:i+1], valued: true, value: Word{Text: letters[i+1:], Fed: args[0].Fed}}
		if takes && opt.value.Text == "" {
			if opt.valued = len(rest) > 0; opt.valued {
				opt.value, rest = rest[0], rest[1:]
			}
		}
		return opt, rest, true
	}
	return option{letters: letters, unsure: strings.Trim(letters, s.flags) != ""}, rest, true
}
