// p-go.go - a program that makes its system calls itself, in threads that come and go: `p-go DIR`.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

var self string

func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c > 0x20 && c < 0x7f && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\x%02x", c)
		}
	}
	return b.String()
}

func truth(words ...string) {
	line := fmt.Sprintf("%d@%s", os.Getpid(), escape(self))
	for _, w := range words {
		line += " " + escape(w)
	}
	syscall.Write(9, []byte(line+"\n"))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func ino(path string) string {
	var st syscall.Stat_t
	must(syscall.Stat(path, &st))
	return fmt.Sprintf("#%d", st.Ino)
}

func main() {
	self, _ = os.Readlink("/proc/self/exe")
	truth(append([]string{"exec"}, os.Args...)...)
	dir := os.Args[1]
	if len(os.Args) > 2 {
		must(os.WriteFile(filepath.Join(dir, os.Args[2]), []byte("x\n"), 0644))
		truth("create", filepath.Join(dir, os.Args[2]))
		truth("write", filepath.Join(dir, os.Args[2]))
		truth("exit", "0")
		return
	}
	_, err := os.ReadFile(filepath.Join(dir, "in"))
	must(err)
	truth("read", filepath.Join(dir, "in"), ino(filepath.Join(dir, "in")))
	var wait sync.WaitGroup
	for i := 0; i < 20; i++ {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			p := filepath.Join(dir, "sub", fmt.Sprint("f", i))
			must(os.WriteFile(p+".tmp", []byte("x\n"), 0644))
			truth("create", p+".tmp", ino(p+".tmp"))
			truth("write", p+".tmp", ino(p+".tmp"))
			must(os.Rename(p+".tmp", p))
			truth("rename", p+".tmp", p, ino(p))
		}(i)
	}
	wait.Wait()
	_, err = os.Open(filepath.Join(dir, "none"))
	if !os.IsNotExist(err) {
		os.Exit(99)
	}
	truth("absent", filepath.Join(dir, "none"))
	c := exec.Command(self, dir, "out")
	c.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, os.NewFile(9, "truth")}
	must(c.Start())
	truth("fork", fmt.Sprint(c.Process.Pid))
	must(c.Wait())
	truth("exit", "0")
}
