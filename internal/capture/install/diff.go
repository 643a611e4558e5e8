package install

import (
	"fmt"
	"slices"
	"strings"
)

// around is how many unchanged lines a diff shows before and after changes.
const around = 3

// maxCompared bounds the work of a comparison: the product of the numbers of
// lines that differ. Beyond it all of them count as changed.
const maxCompared = 4 << 20

// edit is a line of a diff: ' ', '-' or '+'.
type edit struct {
	sign byte
	line string
}

// unified returns the difference of two texts as a unified diff; nothing for
// equal ones. An absent file is called /dev/null.
func unified(from, to string, before, after []byte) string {
	if string(before) == string(after) {
		return ""
	}
	edits := compare(lines(before), lines(after))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	for start := 0; start < len(edits); {
		first, end := hunk(edits, start)
		if first < 0 {
			break
		}
		writeHunk(&b, edits, first, end)
		start = end
	}
	return b.String()
}

// lines returns the lines of a text, without their ends.
func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}

// compare returns how a becomes b.
func compare(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head, a, b = append(head, edit{' ', a[0]}), a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]edit{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, compareRest(a, b)...), tail...)
}

// compareRest compares by the longest common sequence of lines.
func compareRest(a, b []string) (edits []edit) {
	common := commonLines(a, b)
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			edits, i, j = append(edits, edit{' ', a[i]}), i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			edits, i = append(edits, edit{'-', a[i]}), i+1
		default:
			edits, j = append(edits, edit{'+', b[j]}), j+1
		}
	}
	for ; i < len(a); i++ {
		edits = append(edits, edit{'-', a[i]})
	}
	for ; j < len(b); j++ {
		edits = append(edits, edit{'+', b[j]})
	}
	return edits
}

// commonLines returns how many lines the rests of a and b, from each place on,
// have in common. Where that is too much work it is none.
func commonLines(a, b []string) [][]int32 {
	row := make([]int32, len(b)+1)
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = row
	}
	if len(a)*len(b) > maxCompared {
		return common
	}
	for i := range slices.Backward(a) {
		common[i] = make([]int32, len(b)+1)
		for j := range slices.Backward(b) {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}

// hunk returns the next changes from start on with the lines around them; -1 if
// there are none.
func hunk(edits []edit, start int) (first, end int) {
	first = -1
	for i := start; i < len(edits); i++ {
		switch {
		case edits[i].sign != ' ':
			if first < 0 {
				first = max(start, i-around)
			}
			end = min(len(edits), i+1+around)
		case first >= 0 && i >= end+around:
			return first, end
		}
	}
	return first, end
}

func writeHunk(b *strings.Builder, edits []edit, first, end int) {
	oldLine, newLine := 1, 1
	for _, e := range edits[:first] {
		if e.sign != '+' {
			oldLine++
		}
		if e.sign != '-' {
			newLine++
		}
	}
	oldCount, newCount := 0, 0
	for _, e := range edits[first:end] {
		if e.sign != '+' {
			oldCount++
		}
		if e.sign != '-' {
			newCount++
		}
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(oldLine, oldCount), span(newLine, newCount))
	for _, e := range edits[first:end] {
		fmt.Fprintf(b, "%c%s\n", e.sign, e.line)
	}
}

// span returns a range of lines as a diff has it. An empty one is behind the
// line before it.
func span(line, count int) string {
	if count == 0 {
		line--
	}
	return fmt.Sprintf("%d,%d", line, count)
}
