package shell

import "strings"

func (p *process) find() {
	args := p.args
	for i := 0; i < len(args); i++ {
		switch args[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := i + 1
			for end < len(args) && args[end].Text != ";" && args[end].Text != "+" {
				end++
			}
			inner, _ := feed(args[i+1:end], "{}", Hole)
			for k := range inner {
				if inner[k].Fed {
					inner[k].From, inner[k].Base = findStart(args), findName(args[:i])
				}
			}
			p.w.run(inner, p.st.child(), input{})
			i = end
		default:
			if findOperand[args[i].Text] {
				i++
			}
		}
	}
}

func findStart(args []Word) string {
	paths, _ := FindDeletes(args)
	if len(paths) != 1 || paths[0].Glob || !paths[0].Known() {
		return ""
	}
	return paths[0].Text
}

func findName(args []Word) string {
	name := ""
	for i, a := range args {
		switch {
		case a.Text == "-o", a.Text == "-or", a.Text == "!", a.Text == "-not", a.Text == ",":
			return ""
		case a.Text == "-name" && i+1 < len(args) && args[i+1].Known() && !strings.ContainsAny(args[i+1].Text, "*?["):
			name = args[i+1].Text
		}
	}
	return name
}

var findOperand = set("-amin -anewer -atime -cmin -cnewer -ctime -fls -fprint -fprint0 -fprintf -fstype -gid -group " +
	"-ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer " +
	"-newermt -path -perm -printf -regex -regextype -samefile -size -type -uid -used -user -wholename -xtype")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// FindDeletes reports whether the program find deletes files when it is called with args. paths are
// the directories in which find starts.
func FindDeletes(args []Word) (paths []Word, deletes bool) {
	tests := false
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "-delete":
			deletes = true
		case text == "-H", text == "-L", text == "-P":
		case findOperand[text]:
			i++
			tests = true
		case strings.HasPrefix(text, "-exec"), strings.HasPrefix(text, "-ok"):
			for i < len(args) && args[i].Text != ";" && args[i].Text != "+" {
				i++
			}
		case text == "(", text == "!", strings.HasPrefix(text, "-"):
			tests = true
		case !tests:
			paths = append(paths, args[i])
		}
	}
	return paths, deletes
}

func (p *process) fd() {
	for i, a := range p.args {
		inner := p.args[i+1:]
		switch name, value, _ := strings.Cut(a.Text, "="); {
		case a.Text == "-x", a.Text == "-X", a.Text == "--exec", a.Text == "--exec-batch":
		case name == "--exec", name == "--exec-batch":
			inner = append([]Word{{Text: value}}, inner...)
		case strings.HasPrefix(a.Text, "-x"), strings.HasPrefix(a.Text, "-X"):
			inner = append([]Word{{Text: a.Text[2:]}}, inner...)
		default:
			continue
		}
		inner, _ = feed(inner, "{}", Hole)
		p.w.run(append(inner, Word{Text: Hole, Fed: true}), p.st.child(), input{})
		return
	}
}
