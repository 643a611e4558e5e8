package shell

import "strings"

var runOptions = []string{
	"--to-command=", "--checkpoint-action=exec=", "--use-compress-program=", "ProxyCommand=", "-oProxyCommand=", "LocalCommand=", "--rsh=", "--pre=",
	"--ctstate-command=", "--exec=", ":!", "+!", "+:!", `\!`, ".shell ", ".system ", "exec=",
}

func (w *walker) argumentCommands(args []Word, st *state) {
	for i, a := range args {
		text := strings.TrimSpace(a.Text)
		if text == "" || strings.IndexByte(`-:+\.PLe`, text[0]) < 0 {
			continue
		}
		for _, begin := range runOptions {
			if code, ok := strings.CutPrefix(text, begin); ok && code != "" {
				search{w, st.child()}.command(code + " ")
			}
		}
		if text == "--to-command" && i+1 < len(args) {
			search{w, st.child()}.command(args[i+1].Text + " ")
		}
	}
}
