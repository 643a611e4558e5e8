package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// commandPattern is a program, its first operands and its options.
type commandPattern struct {
	name    matchText
	words   []matchText
	options []string // "-rf", "--force", "-delete"
}

// errNotPlain refuses what is more than a program with its arguments.
var errNotPlain = errors.New("not one plain command")

func newCommandPattern(text string) (commandPattern, error) {
	a := shell.Analyze(text)
	if a.Dynamic() || len(a.Commands) == 0 || len(a.Writes) > 0 {
		return commandPattern{}, errNotPlain
	}
	first := a.Commands[0] // others are what it would start: "sudo rm"
	if strings.ContainsAny(text, "|&;<>()$`\n") {
		return commandPattern{}, errNotPlain
	}
	name, err := newText(first.Name)
	if err != nil {
		return commandPattern{}, err
	}
	p := commandPattern{name: name}
	for _, arg := range first.Args {
		if strings.HasPrefix(arg.Text, "-") && len(arg.Text) > 1 {
			p.options = append(p.options, arg.Text)
			continue
		}
		word, err := newText(strings.ToLower(arg.Text))
		if err != nil {
			return commandPattern{}, err
		}
		p.words = append(p.words, word)
	}
	return p, nil
}

// matches tells whether a command is one that the pattern means.
func (p commandPattern) matches(cmd shell.Command) bool {
	if !p.name(cmd.Name) {
		return false
	}
	words := p.words
	behindOption := false
	for _, a := range cmd.Args {
		switch {
		case len(words) == 0:
		case words[0](strings.ToLower(a.Text)):
			words, behindOption = words[1:], false
		case strings.HasPrefix(a.Text, "-"):
			behindOption = !strings.Contains(a.Text, "=")
		case behindOption: // perhaps the option's value
			behindOption = false
		default:
			return false
		}
	}
	if len(words) > 0 {
		return false
	}
	for _, option := range p.options {
		if !hasOption(cmd.Args, option) {
			return false
		}
	}
	return true
}

// twins are options with a short and a long form that programs agree about.
var twins = map[byte]string{'f': "force", 'r': "recursive", 'R': "recursive"}

const (
	maxCluster = 5 // bytes of "-rfvx" in a pattern; what is longer is a word of its own: "-delete"
	maxLetters = 9 // bytes of short options in a command; what is longer has other words in it
)

// hasOption tells whether an option of a pattern is among the arguments.
func hasOption(args []shell.Word, option string) bool {
	if i := slices.IndexFunc(args, func(a shell.Word) bool { return a.Text == "--" }); i >= 0 {
		args = args[:i]
	}
	has := func(is func(text string) bool) bool {
		return slices.ContainsFunc(args, func(a shell.Word) bool { return is(a.Text) })
	}
	if name, long := strings.CutPrefix(option, "--"); long {
		return has(func(text string) bool { return text == option || meansLong(text, name) })
	}
	if len(option) > maxCluster {
		return has(func(text string) bool { return text == option })
	}
	for i := 1; i < len(option); i++ {
		if !has(func(text string) bool { return meansShort(text, option[i]) }) {
			return false
		}
	}
	return true
}

// meansLong tells whether a word is the long option name, or a short one that
// means the same.
func meansLong(text, name string) bool {
	if given, long := strings.CutPrefix(text, "--"); long {
		key, _, _ := strings.Cut(given, "=")
		return longMatches(name, key)
	}
	for letter, twin := range twins {
		if twin == name && hasLetter(text, letter) {
			return true
		}
	}
	return false
}

// meansShort tells whether a word has the short option letter, or one that means
// the same.
func meansShort(text string, letter byte) bool {
	twin := twins[letter]
	return hasLetter(text, letter) || twin != "" && meansLong(text, twin)
}

// hasLetter tells whether a word is short options, with letter among them.
func hasLetter(text string, letter byte) bool {
	return len(text) > 1 && len(text) <= maxLetters && text[0] == '-' && text[1] != '-' && strings.IndexByte(text[1:], letter) >= 0
}
