package policy

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

func showsMore(cmd shell.Command) bool {
	switch cmd.Name {
	case "kubectl", "oc":
		return getsSecret(cmd.Args) && showsContent(cmd.Args)
	case "git":
		sub, rest := shell.Git(cmd.Args)
		if !showing[sub] || sub == "log" && !options(rest).has("p") {
			return false
		}
		return slices.ContainsFunc(rest, func(a shell.Word) bool {
			_, name, _ := strings.Cut(a.Text, ":")
			return name != "" && isSecret(shell.File{Word: shell.Word{Text: name}}) || isSecret(shell.File{Word: a})
		})
	}
	return false
}

var showing = words("show cat-file diff log")

func getsSecret(args []shell.Word) bool {
	if leads(args, []string{"get", "secret"}) || leads(args, []string{"get", "secrets"}) {
		return true
	}
	return slices.ContainsFunc(args, func(a shell.Word) bool {
		return strings.HasPrefix(a.Text, "secret/") || strings.HasPrefix(a.Text, "secrets/")
	})
}

func showsContent(args []shell.Word) bool {
	for i, a := range args {
		form := ""
		switch {
		case (a.Text == "-o" || a.Text == "--output") && i+1 < len(args):
			form = args[i+1].Text
		case strings.HasPrefix(a.Text, "--output="):
			form = strings.TrimPrefix(a.Text, "--output=")
		case strings.HasPrefix(a.Text, "-o"):
			form = strings.TrimPrefix(strings.TrimPrefix(a.Text, "-o"), "=")
		case strings.HasPrefix(a.Text, "--template"):
			return true
		}
		if form != "" && form != "name" && form != "wide" && !strings.HasPrefix(form, "custom-columns") {
			return true
		}
	}
	return false
}

func sendsValue(cmd shell.Command) bool {
	if !contactsOthers(cmd) {
		return pushesElsewhere(cmd) || toOtherMachine[cmd.Name] && leads(cmd.Args, []string{"send"})
	}
	switch cmd.Name {
	case "dig", "nslookup", "host", "telnet":
		return slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return a.Open })
	case "mail", "sendmail", "ftp", "sftp":
		return true
	case "ssh":
		return cmd.Piped && slices.ContainsFunc(cmd.Args, func(a shell.Word) bool { return strings.Contains(a.Text, "cat") || strings.Contains(a.Text, "tar") })
	case "curl", "wget", "http":
		return sendsOutput(cmd.Args)
	}
	return false
}

const dataOptions = "-d -F --data* --form --post-data"

func sendsOutput(args []shell.Word) bool {
	for i, a := range args {
		if !a.Open {
			continue
		}
		query := strings.HasPrefix(a.Text, "http") && strings.Contains(a.Text, "?")
		if query || strings.HasPrefix(a.Text, "--post-data") || strings.HasPrefix(a.Text, "--data") || i > 0 && isOption(args[i-1].Text, dataOptions) {
			return true
		}
	}
	return false
}

var toOtherMachine = words("croc wormhole ffsend magic-wormhole")

func pushesElsewhere(cmd shell.Command) bool {
	if cmd.Name != "git" {
		return false
	}
	sub, rest := shell.Git(cmd.Args)
	return sub == "push" && slices.ContainsFunc(rest, func(a shell.Word) bool {
		return strings.Contains(a.Text, "://") || strings.HasPrefix(a.Text, "git@")
	})
}

var showsVariable = regexp.MustCompile(`\b(?:echo|printf|printenv)\b[^|;&\n]*?(?:\$\{?|printenv )\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)\w*`)
