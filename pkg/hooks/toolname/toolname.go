// Package toolname maps the names of agents' tools to common names. It imports few packages,
// because the program hooktrail-hook links it and starts at each call of an agent.
package toolname

import (
	"strings"
	"sync"
)

// Common names of tools.
const (
	Shell = "Bash"
	Write = "Write"
	Edit  = "Edit"
	Agent = "Task"
	Ask   = "AskUserQuestion"
	Read  = "Read"
	Fetch = "WebFetch"
	Query = "WebSearch"
	Todo  = "TodoWrite"
)

var wireNames = map[string]string{
	Shell: "bash shell sh zsh exec cmd terminal powershell pwsh runshellcommand shellcommand localshell execcommand executebash " +
		"executecommand executeshell runcommand runterminalcmd runinterminal runinbash containerexec unifiedexec writestdin",
	Write: "write writefile writetofile create createfile newfile savefile fswrite createnewfile appendfile appendtofile " +
		"copyfile downloadfile",
	Edit: "edit multiedit editfile editfiles fileedit replace replaceinfile replacestringinfile multireplacestringinfile applypatch patch applydiff " +
		"strreplace strreplaceeditor strreplacebasededittool texteditor inserteditintofile insertcontent searchreplace " +
		"searchandreplace notebookedit editnotebook editnotebookfile updatefile deletefile removefile movefile renamefile",
	Agent: "task agent invokeagent spawnagent runsubagent subagent newtask delegatetask",
	Ask:   "askuserquestion askuser askfollowupquestion askquestion requestuserinput question",
	Read:  "read readfile view viewfile openfile",
	Fetch: "webfetch fetch fetchwebpage",
	Query: "websearch googlewebsearch",
	Todo:  "todowrite writetodos updateplan managetodolist",
}

var canonical = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for name, wires := range wireNames {
		for wire := range strings.FieldsSeq(wires) {
			m[wire] = name
		}
	}
	return m
})

// Canonical returns the common name of a tool, such as "Bash" for the shell of every agent. It
// ignores the prefix of an MCP server. Unknown names are returned unchanged.
func Canonical(tool string) string {
	name := tool
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 {
		if c, ok := canonical()[Squash(name)]; ok {
			return c
		}
		name = name[i+1:]
	}
	if c, ok := canonical()[Squash(name)]; ok {
		return c
	}
	return tool
}

// Squash returns name in lower case, without the characters that separate its words.
func Squash(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}
