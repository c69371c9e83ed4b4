# Makes a program of random_programs.py one whose calls tell more: in the place of mark() one of eight calls, by the line.
{
	n = split("write(1, \"\", 1)|access(\"\", 0)|lseek(0, 0, 1)|dup2(1, 1)|fsync(1)|unlink(\"\")|rmdir(\"\")|truncate(\"\", 0)", call, "|")
	gsub(/mark\(__LINE__\);/, "(note('m', __LINE__, 0), (void)!" call[NR % n + 1] ");")
	print
}
