// p-use-go MS MB - a Go program that burns so much CPU time in each of two threads and fills memory, and says, as p-use.c
// does, what it was by its own CPU clock and page tables.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

func clock(which uintptr) time.Duration {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, which, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

func burn(d time.Duration) float64 {
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID
	runtime.LockOSThread()
	x := 1.0
	for end := clock(ofThread) + d; clock(ofThread) < end; {
		for i := 0; i < 2000; i++ {
			x = x*1.0000001 + 1e-9
		}
	}
	return x
}

func resident() int {
	text, _ := os.ReadFile("/proc/self/smaps_rollup")
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Rss:" {
			kb, _ := strconv.Atoi(f[1])
			return kb * 1024
		}
	}
	return 0
}

func main() {
	ms, _ := strconv.Atoi(os.Args[1])
	mb, _ := strconv.Atoi(os.Args[2])
	var both sync.WaitGroup
	for i := 0; i < 2; i++ {
		both.Add(1)
		go func() { burn(time.Duration(ms) * time.Millisecond); both.Done() }()
	}
	both.Wait()
	room := make([]byte, mb<<20)
	for i := range room {
		room[i] = 1
	}
	memory := resident()
	runtime.KeepAlive(room)
	const ofProcess = 2 // CLOCK_PROCESS_CPUTIME_ID
	fmt.Printf("largest %d\ncpu %d\n", memory, clock(ofProcess).Nanoseconds())
}
