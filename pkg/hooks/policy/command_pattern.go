package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type commandPattern struct {
	name    matchText
	words   []matchText
	options []string // such as "-rf", "--force", "-delete"
	pushes  bool     // the command is "git push", for which "+main" means --force
}

var errNotPlain = errors.New("not one plain command")

func newCommandPattern(text string) (commandPattern, error) {
	a := shell.Analyze(text)
	unclear := func(d shell.Doubt) bool { return d != shell.DoubtProgram } // the program name can contain "*"
	if slices.ContainsFunc(a.Doubts, unclear) || len(a.Commands) == 0 || len(a.Writes) > 0 {
		return commandPattern{}, errNotPlain
	}
	first := a.Commands[0] // the first command starts the others, such as sudo in "sudo rm"
	if strings.ContainsAny(text, "|&;<>()$`\n") {
		return commandPattern{}, errNotPlain
	}
	name, err := newText(first.Name)
	if err != nil {
		return commandPattern{}, err
	}
	p := commandPattern{name: name, pushes: first.Name == "git" && len(first.Args) > 0 && first.Args[0].Text == "push"}
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

func (p commandPattern) matches(cmd shell.Command) bool {
	rest, ok := p.leads(cmd)
	if !ok {
		return false
	}
	for _, option := range p.options {
		switch {
		case hasOption(optionsOf(cmd.Args, rest, option), option):
		case p.pushes && forces(option) && hasForcedRef(rest):
		default:
			return false
		}
	}
	return true
}

func (p commandPattern) leads(cmd shell.Command) (rest []shell.Word, ok bool) {
	if !p.name(cmd.Name) {
		return nil, false
	}
	rest = cmd.Args
	words := p.words
	behindOption := false
	for i, a := range cmd.Args {
		switch {
		case len(words) == 0:
			return rest, true
		case words[0](strings.ToLower(a.Text)):
			words, behindOption = words[1:], false
			rest = cmd.Args[i+1:]
		case strings.HasPrefix(a.Text, "-"):
			behindOption = !strings.Contains(a.Text, "=")
		case behindOption: // the word can be the value of the previous option
			behindOption = false
		default:
			return nil, false
		}
	}
	return rest, len(words) == 0
}

var twins = map[byte]string{'f': "force", 'r': "recursive", 'R': "recursive"}

const (
	maxCluster = 5 // longest option cluster in a pattern, such as "-rfvx"
	maxLetters = 9 // longest option cluster in a command
)

func optionsOf(args, rest []shell.Word, option string) []shell.Word {
	if isSingleDashLong(option) {
		return args
	}
	if i := slices.IndexFunc(rest, func(a shell.Word) bool { return a.Text == "--" }); i >= 0 {
		return args[:len(args)-len(rest)+i]
	}
	return args
}

func isSingleDashLong(option string) bool {
	return len(option) > maxCluster && !strings.HasPrefix(option, "--")
}

func forces(option string) bool { return option == "-f" || meansLong(option, "force") }

func hasForcedRef(args []shell.Word) bool {
	return slices.ContainsFunc(args, func(a shell.Word) bool { return len(a.Text) > 1 && a.Text[0] == '+' })
}

func hasOption(args []shell.Word, option string) bool {
	has := func(is func(text string) bool) bool {
		return slices.ContainsFunc(args, func(a shell.Word) bool { return is(a.Text) })
	}
	if name, long := strings.CutPrefix(option, "--"); long {
		return has(func(text string) bool { return text == option || meansLong(text, name) })
	}
	if isSingleDashLong(option) {
		return has(func(text string) bool { return text == option })
	}
	for i := 1; i < len(option); i++ {
		if !has(func(text string) bool { return meansShort(text, option[i]) }) {
			return false
		}
	}
	return true
}

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

func meansShort(text string, letter byte) bool {
	twin := twins[letter]
	return hasLetter(text, letter) || twin != "" && meansLong(text, twin)
}

func hasLetter(text string, letter byte) bool {
	return len(text) > 1 && len(text) <= maxLetters && text[0] == '-' && text[1] != '-' && strings.IndexByte(text[1:], letter) >= 0
}
