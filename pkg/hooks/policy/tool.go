package policy

import "strings"

// Canonical names of tools.
const (
	ToolShell = "Bash"
	ToolWrite = "Write"
	ToolEdit  = "Edit"
	ToolAgent = "Task"
	ToolAsk   = "AskUserQuestion"
	ToolRead  = "Read"
	ToolFetch = "WebFetch"
	ToolQuery = "WebSearch"
	ToolTodo  = "TodoWrite"
)

var wireNames = map[string]string{
	ToolShell: "bash shell sh zsh exec cmd terminal powershell pwsh runshellcommand shellcommand localshell execcommand executebash " +
		"executecommand executeshell runcommand runterminalcmd runinterminal runinbash containerexec unifiedexec writestdin",
	ToolWrite: "write writefile writetofile create createfile newfile savefile fswrite createnewfile appendfile appendtofile " +
		"copyfile downloadfile",
	ToolEdit: "edit multiedit editfile editfiles fileedit replace replaceinfile replacestringinfile multireplacestringinfile applypatch patch applydiff " +
		"strreplace strreplaceeditor strreplacebasededittool texteditor inserteditintofile insertcontent searchreplace " +
		"searchandreplace notebookedit editnotebook editnotebookfile updatefile deletefile removefile movefile renamefile",
	ToolAgent: "task agent invokeagent spawnagent runsubagent subagent newtask delegatetask",
	ToolAsk:   "askuserquestion askuser askfollowupquestion askquestion requestuserinput question",
	ToolRead:  "read readfile view viewfile openfile",
	ToolFetch: "webfetch fetch fetchwebpage",
	ToolQuery: "websearch googlewebsearch",
	ToolTodo:  "todowrite writetodos updateplan managetodolist",
}

var canonical = func() map[string]string {
	m := map[string]string{}
	for name, wires := range wireNames {
		for wire := range strings.FieldsSeq(wires) {
			m[wire] = name
		}
	}
	return m
}()

// CanonicalTool returns the common name of a tool, such as "Bash" for the shell of every agent. It
// ignores the prefix of an MCP server. Unknown names are returned unchanged.
func CanonicalTool(tool string) string {
	name := tool
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		if c, ok := canonical[squash(name)]; ok {
			return c
		}
		name = name[i+1:]
	}
	if c, ok := canonical[squash(name)]; ok {
		return c
	}
	return tool
}

func squash(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
