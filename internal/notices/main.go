// Command notices prints the licences of Go and of every module that packages link, as copies of what is
// built from them must have it: go run ./internal/notices -os linux,darwin,windows ./cmd/modelpatch
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Texts of licences, and what has to go with them; some distributions of Go keep Go's one folder up.
var (
	licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying)[^/]*$`)
	further = regexp.MustCompile(`(?i)^(notice|patents)[^/]*$`)
)

func main() {
	systems := flag.String("os", "linux", "operating systems, separated by commas")
	arch := flag.String("arch", "amd64", "architecture")
	flag.Parse()
	if err := run(strings.Split(*systems, ","), *arch, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(systems []string, arch string, packages []string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	folders := map[string]string{}
	for _, system := range systems {
		c := exec.Command("go", append([]string{"list", "-mod=readonly", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"}, packages...)...)
		c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		c.Stderr = os.Stderr
		listed, err := c.Output()
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(listed)) {
			if module, folder, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
				folders[module] = folder
			}
		}
	}
	goRoot := strings.TrimSpace(string(root))
	if err := write("Go", goRoot, filepath.Dir(goRoot)); err != nil {
		return err
	}
	for _, module := range slices.Sorted(maps.Keys(folders)) {
		if err := write(module, folders[module]); err != nil {
			return err
		}
	}
	return nil
}

// write prints the texts of the first folder that has a licence.
func write(module string, folders ...string) error {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		found := false
		out := fmt.Sprintf("%s\n%s\n%[1]s\n\n", strings.Repeat("=", 78), module)
		for _, e := range entries {
			is := licence.MatchString(e.Name())
			if e.IsDir() || strings.HasSuffix(e.Name(), ".go") || !is && !further.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return err
			}
			found = found || is
			out += strings.TrimSpace(string(text)) + "\n\n"
		}
		if found {
			_, err := os.Stdout.WriteString(out)
			return err
		}
	}
	return errors.New(module + " has no licence in its folder: executables must not be given away without it")
}
