package dialogue

import (
	"regexp"
	"strconv"
	"strings"
)

var exitLine = regexp.MustCompile(`(?:^Command exited with code |^[Ee]xit (?:code|status):? |\(exit code: )(\d{1,9})\)?$`)

func lastExit(output string) *int {
	output = strings.TrimSpace(output)
	first, _, _ := strings.Cut(output, "\n")
	for _, line := range []string{output[strings.LastIndexByte(output, '\n')+1:], first} {
		if m := exitLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if code, err := strconv.Atoi(m[1]); err == nil {
				return &code
			}
		}
	}
	return nil
}
