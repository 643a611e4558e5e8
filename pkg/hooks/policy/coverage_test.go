package policy_test

import "github.com/hooktrail/hooktrail/pkg/events"

// example is a command that the preset denies. docs/hooks-policies.md lists it.
type example struct{ group, command string }

var destroyed = []example{
	{"files", "rm -rf /opt/x"},
	{"files", "rm -rf ~/projects"},
	{"files", "rm -rf ../other"},
	{"files", "rm -r ~"},
	{"files", "rm -rf ."},
	{"files", "rm -rf .git"},
	{"files", "rm -rf \"$DIR\""},
	{"files", "rm --no-preserve-root -r /"},
	{"files", "find . -name '*.log' -delete"},
	{"files", "find . -type d -exec rm -rf {} +"},
	{"files", "shred -u key"},
	{"files", "mv notes /dev/null"},
	{"files", "chmod -R 777 /etc"},
	{"files", "pwsh -Command Remove-Item -Recurse -Force C:/data"},
	{"devices", "dd if=image of=/dev/sda"},
	{"devices", "cat image > /dev/nvme0n1"},
	{"devices", "mkfs.ext4 /dev/sdb1"},
	{"devices", "wipefs -a /dev/sdb"},
	{"git", "git reset --hard"},
	{"git", "git reset --merge"},
	{"git", "git checkout -- file"},
	{"git", "git checkout HEAD~1 file"},
	{"git", "git checkout ."},
	{"git", "git checkout --force main"},
	{"git", "git checkout HEAD --pathspec-from-file=list"},
	{"git", "git switch --discard-changes main"},
	{"git", "git restore file"},
	{"git", "git clean -fd"},
	{"git", "git -c clean.requireForce=false clean -d"},
	{"git", "git push --force"},
	{"git", "git push origin +main"},
	{"git", "git push --mirror backup"},
	{"git", "git push origin --delete topic"},
	{"git", "git branch -D topic"},
	{"git", "git stash drop"},
	{"git", "git stash clear"},
	{"git", "git worktree remove --force ../wt"},
	{"git", "git rm -f file"},
	{"git", "git reflog expire --expire=now --all"},
	{"git", "git gc --prune=now"},
	{"git", "git prune"},
	{"git", "git update-ref -d refs/heads/topic"},
	{"git", "git filter-branch --tree-filter true HEAD"},
	{"git", "git submodule deinit -f lib"},
	{"git", "git checkout-index -f -a"},
	{"git", "git read-tree --reset -u HEAD"},
	{"beyond", "terraform destroy"},
	{"beyond", "kubectl -n prod delete namespace shop"},
	{"beyond", "docker volume rm data"},
	{"beyond", "aws s3 rm s3://bucket --recursive"},
	{"beyond", "gcloud sql instances delete db"},
	{"beyond", "az group delete -n shop"},
	{"beyond", "gh repo delete me/repo"},
	{"beyond", "redis-cli -n 1 FLUSHALL"},
	{"beyond", "dropdb shop"},
	{"beyond", "psql -c 'DROP TABLE users'"},
	{"beyond", "echo 'delete from users' | mysql shop"},
	{"beyond", "helm uninstall web"},
	{"beyond", "gsutil rm -r gs://bucket"},
	{"beyond", "aws ec2 terminate-instances --instance-ids i-1"},
	{"beyond", "kubectl delete ns shop"},
	{"input", "ls | xargs -I{} bash -c {}"},
}

func commandsOf(examples []example) []string {
	var commands []string
	for _, e := range examples {
		commands = append(commands, e.command)
	}
	return commands
}

// uncovered is a class of commands that the preset judges differently from the labels.
type uncovered struct {
	class, example string
	verdict        events.Verdict
	why            string
	cases          []string // digests of the labelled commands in this class
}

// A labelled command with an unexpected verdict must be in one of these classes.
var notCovered = []uncovered{
	{
		"trees below the working directory", "rm -rf build", events.VerdictNone,
		"Removing build output is an agent's daily work. The path stays below the directory in which the command starts.",
		[]string{"4e7f635c82bf"},
	},
	{
		"xargs that puts nothing in", "ls | xargs -i{} rm -rf", events.VerdictNone,
		"With a placeholder to replace, xargs adds nothing at the end, so rm gets no path.",
		[]string{"bcbb1e4cf4fc"},
	},
	{
		"text that no shell parses", "echo 'half a quote", events.VerdictAsk,
		"A shell refuses it, but an open terminal may not. The recognisable part is judged, and the rest is never called safe.",
		[]string{"732e4c210ffe", "49fc4e6227b7"},
	},
	{
		"a lease next to -f", "git push -f --force-with-lease", events.VerdictNone,
		"The lease is intended, although git documents that -f is stronger. `blockedCommands` denies it.", nil,
	},
	{
		"rm without -f", "rm -r /opt/x", events.VerdictNone,
		"Only a home, a system directory, the working directory and its history are guarded without -f.", nil,
	},
	{
		"single files", "rm -f /opt/x/file", events.VerdictNone,
		"This is ordinary work, like cp, mv, truncate, sed -i and redirections over a file. `allowedWritePaths` guards them.", nil,
	},
	{
		"a branch or a file", "git checkout name", events.VerdictNone,
		"Only the repository knows which of the two it is. Names that can only be paths (`.`, `./x`, `*.go`) are denied.", nil,
	},
	{
		"options from variables", "git push $OPTIONS origin", events.VerdictNone,
		"An unknown argument counts as an operand. Unknown programs, subcommands, code and targets of rm -rf are not guessed.", nil,
	},
	{
		"shell syntax inside of values", "bash -c \"make $TARGET\"", events.VerdictNone,
		"A value inserted into code counts as one word, unless it is the program itself or in eval.", nil,
	},
	{
		"programs of the project", "make clean && ./reset.sh", events.VerdictNone,
		"The text of scripts, make targets and package scripts is in files, which a policy does not read.", nil,
	},
	{
		"code of other languages", "python3 -c \"open('x', 'w')\"", events.VerdictNone,
		"Only shell commands that the code starts are judged. Code that removes trees by itself gets a question.", nil,
	},
	{
		"commands for later or elsewhere", "tmux send-keys 'git reset --hard' Enter", events.VerdictNone,
		"Also at, cron, editors, key bindings of fzf, git aliases and hooks that were configured before.", nil,
	},
	{
		"options that run commands", "rsync -e 'sh -c \"git reset --hard\"' a b:c", events.VerdictNone,
		"The usual ones are judged, such as those of tar, ssh and vim, the values of git -c, and variables such as GIT_PAGER.", nil,
	},
	{
		"other programs that remove", "truncate -s 0 src/main.go", events.VerdictNone,
		"Only the programs of the table above are known, and truncate passes too.", nil,
	},
	{
		"inside of containers", "docker exec web rm -rf /srv", events.VerdictNone,
		"A container is disposable. Volumes are guarded by name only.", nil,
	},
	{
		"single resources of clouds and clusters", "kubectl delete pod web-1", events.VerdictNone,
		"The table covers commands that remove a whole group of data. Limits for the rest belong to the account.", nil,
	},
	{
		"cmd.exe", "rd /s /q C:\\data", events.VerdictNone,
		"Of cmd.exe only `cmd /c` is parsed, and of PowerShell Remove-Item and downloads that run.", nil,
	},
	{
		"links", "rm -rf link/", events.VerdictNone,
		"A policy reads no files, so it does not follow a link below the working directory.", nil,
	},
}
