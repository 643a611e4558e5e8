package shell

import "strings"

type wrapper struct {
	options
	operands int    // operands before the other program
	assigns  bool   // NAME=VALUE words can precede the other program
	code     string // short options whose value is a shell script
	first    string // required first argument, such as "run" in "uv run"
	joined   bool   // joins the remaining arguments and passes them to a shell
}

var wrappers = map[string]wrapper{
	"sudo": {assigns: true, options: options{
		flags: "AbBEeHiKklNnPSsVv", short: "CDghpRrTtUu",
		long: " --close-from --chdir --group --host --prompt --chroot --role --command-timeout --type --other-user --user ",
	}},
	"env": {assigns: true, options: options{flags: "0iv", short: "CPSu", long: " --chdir --split-string --unset "}},

	"doas": {options: options{flags: "Lns", short: "aCu"}}, "command": {options: options{flags: "pVv"}},
	"builtin": {}, "noglob": {}, "nocorrect": {}, "nohup": {}, "busybox": {}, "toybox": {}, "fakeroot": {},
	"-": {}, "repeat": {operands: 1}, "and": {}, "or": {}, "not": {}, // keywords of zsh and fish
	"pkexec": {options: options{long: " --user "}}, "gosu": {operands: 1}, "su-exec": {operands: 1}, "setpriv": {},
	"wsl":         {options: options{flags: "e", short: "du", long: " --distribution --user --cd "}},
	"systemd-run": {options: options{flags: "GPSdqrt", short: "EHMpu", long: " --unit --property --uid --gid --slice --setenv --host --machine "}},

	"exec": {options: options{flags: "cl", short: "a"}}, "setsid": {options: options{flags: "cfw"}},
	"nice":    {options: options{flags: "0123456789", short: "n", long: " --adjustment "}},
	"ionice":  {options: options{flags: "t", short: "cnpPu", long: " --class --classdata "}},
	"time":    {options: options{flags: "alpqvV", short: "fo", long: " --format --output "}},
	"timeout": {operands: 1, options: timeoutOptions}, "gtimeout": {operands: 1, options: timeoutOptions},
	"stdbuf":   {options: options{short: "eio", long: " --error --input --output "}},
	"chroot":   {operands: 1, options: options{long: " --groups --userspec "}},
	"taskset":  {operands: 1, options: options{flags: "ac"}},
	"chrt":     {operands: 1, options: options{flags: "bfiordv", short: "DPT"}},
	"faketime": {operands: 1, options: options{flags: "fm"}}, "setarch": {operands: 1},
	"arch":       {options: options{flags: "_4683armx", short: "de", attached: "am"}},
	"strace":     {options: options{flags: "cCdfFhikqrtTvVwxyY", short: "abeEIoOpPsSuUX"}},
	"ltrace":     {options: options{flags: "cCfhiLrStTVw", short: "aAeFlnopsuwxX"}},
	"caffeinate": {options: options{flags: "dimsu", short: "tw"}}, "unbuffer": {options: options{flags: "p"}},
	"xvfb-run": {options: options{flags: "al", short: "efnpsw"}},
	"unshare":  {options: options{flags: "cCfimnprTuU", short: "GRSw"}},
	"nsenter":  {options: options{flags: "aFZ", short: "GSt"}},

	"flock":   {operands: 1, code: "c", options: options{flags: "enosux", short: "Ewc", long: " --timeout --conflict-exit-code --command "}},
	"su":      {operands: 1, code: "c", options: options{flags: "flmpP", short: "gGsTwc", long: " --command --shell --group "}},
	"runuser": {code: "c", options: options{flags: "flmpP", short: "gGsTuwc", long: " --command --shell --group --user "}},
	"script":  {operands: 1, code: "c", options: options{flags: "aefq", short: "BEIlmoOtTc", long: " --command "}},
	"npx":     {code: "c", options: options{flags: "qy", short: "pc", long: " --package --call "}},
	"watch":   {joined: true, options: options{flags: "bcdeghprtwx", short: "n", long: " --interval "}},
	"ssh":     {operands: 1, joined: true, options: options{flags: "46AaCfGgKkMNnqsTtVvXxYy", short: "BbcDEeFIiJLlmOoPpQRSWw"}},

	"uv": {first: "run"}, "poetry": {first: "run"}, "pipenv": {first: "run"}, "pdm": {first: "run"}, "hatch": {first: "run"},
	"conda": {first: "run", options: options{short: "np"}}, "mise": {first: "exec"}, "bundle": {first: "exec"},
	"npm": {first: "exec"}, "pnpm": {first: "exec"},
}

var timeoutOptions = options{flags: "fpv", short: "ks", long: " --kill-after --signal "}

func (p *process) unwrap() {
	c, args := wrappers[p.name], p.args
	if c.first != "" {
		if len(args) == 0 || args[0].Text != c.first {
			return
		}
		args = args[1:]
	}
	p.st = p.st.child()
	rest, unsure := p.skip(c, args)
	if c.operands > 0 {
		rest = rest[min(c.operands, len(rest)):]
		if c.code != "" { // options after the operand, as in "su USER -c CODE"
			rest, _ = p.skip(c, rest)
		}
	}
	rest = c.assign(rest, p.st)
	if p.name == "ssh" { // the command runs on another machine
		p.st = newState()
		p.st.dir = HomeDir
	}
	if c.joined {
		p.w.script(join(rest), p.st)
		return
	}
	p.w.run(rest, p.st, p.in)
	if unsure && len(rest) > 1 {
		p.w.run(rest[1:], p.st, p.in)
	}
}

func (c wrapper) assign(args []Word, st *state) []Word {
	for c.assigns && len(args) > 0 && isAssignment(args[0].Text) {
		name, text, _ := strings.Cut(args[0].Text, "=")
		st.set(name, text, true)
		args = args[1:]
	}
	return args
}

func (p *process) skip(c wrapper, args []Word) (rest []Word, unsure bool) {
	for {
		opt, rest, ok := c.next(c.assign(args, p.st))
		if !ok {
			return rest, unsure
		}
		args, unsure = rest, opt.unsure
		if !opt.valued {
			continue
		}
		switch c.kind(opt) {
		case optionCode:
			p.w.script(opt.value.Text, p.st)
		case optionSplit:
			args = append(p.split(opt.value.Text), args...)
		case optionDir:
			p.st.enter(opt.value.Text)
		case optionOther:
		}
	}
}

type optionKind uint8

const (
	optionOther optionKind = iota
	optionCode             // the value is a shell script
	optionSplit            // the value contains the first words of the command
	optionDir              // the value is the working directory
)

func (c wrapper) kind(opt option) optionKind {
	switch opt.long {
	case "--command", "--call":
		return optionCode
	case "--split-string":
		return optionSplit
	case "--chdir":
		return optionDir
	}
	switch last := opt.last(); {
	case last == 0:
	case strings.IndexByte(c.code, last) >= 0:
		return optionCode
	case c.assigns && last == 'S':
		return optionSplit
	case c.assigns && (last == 'C' || last == 'D'):
		return optionDir
	}
	return optionOther
}

func (p *process) split(text string) []Word {
	file, ok := parse(fill(text))
	if !ok {
		return nil
	}
	var words []Word
	for _, s := range file.Stmts {
		for _, word := range callWords(s) {
			words = append(words, p.w.expander(p.st).fields(word)...)
		}
	}
	return words
}

func join(words []Word) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = word.Text
	}
	return strings.Join(texts, " ")
}
