// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The text of a name for a terminal. Others chose the name: it may be any
 * bytes. No state, no locks.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "cmx.h"

int text_char(const char *text, uint32_t *value)
{
	const unsigned char *s = (const unsigned char *)text;
	int len, i;

	if (s[0] < 0x80) {
		*value = s[0];
		return 1;
	}
	if (s[0] >= 0xc2 && s[0] < 0xe0)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] < 0xf5)
		len = 4;
	else
		return 0;
	*value = s[0] & (0xff >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*value = *value << 6 | (s[i] & 0x3f);
	}
	/* Overlong forms, surrogates, and values above U+10FFFF. */
	if (*value < (len == 2 ? 0x80U : len == 3 ? 0x800U : 0x10000U) ||
	    (*value >= 0xd800 && *value <= 0xdfff) || *value > 0x10ffff)
		return 0;
	return len;
}

/*
 * Unicode 16: the general categories Cc, Cf, Zl and Zp, and the property
 * Default_Ignorable_Code_Point. A terminal obeys them (it reads U+009B as ESC
 * [), hides them, or shows the rest differently.
 */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x0, 0x1f },
	{ 0x7f, 0x9f },
	{ 0xad, 0xad },		/* soft hyphen */
	{ 0x34f, 0x34f },
	{ 0x600, 0x605 },
	{ 0x61c, 0x61c },
	{ 0x6dd, 0x6dd },
	{ 0x70f, 0x70f },
	{ 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },
	{ 0x115f, 0x1160 },	/* Hangul fillers */
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x200b, 0x200f },	/* no width, direction */
	{ 0x2028, 0x202e },	/* ends of lines, direction */
	{ 0x2060, 0x206f },
	{ 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },	/* variation selectors */
	{ 0xfeff, 0xfeff },	/* byte order mark */
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },
	{ 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },	/* tags, variation selectors */
};

/*
 * From the user's environment, whether or not the locale is installed. A
 * terminal of 8 bits obeys U+06DB, because it reads its second byte as ESC [.
 */
static bool terminal_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		value = getenv(names[i]);
		if (value && *value)
			return strcasestr(value, "utf-8") ||
			       strcasestr(value, "utf8");
	}
	return false;
}

bool text_hidden(uint32_t value)
{
	size_t i;

	if (value > 0x7f && !terminal_utf8())
		return true;
	for (i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (value >= hidden[i].first && value <= hidden[i].last)
			return true;
	return false;
}

void text_clean(char *text)
{
	const char *from = text;
	uint32_t value;
	int len;

	for (; *from; from += len ? len : 1) {
		len = text_char(from, &value);
		if (!len || text_hidden(value)) {
			*text++ = '?';
			continue;
		}
		memmove(text, from, len);
		text += len;
	}
	*text = '\0';
}

const char *clean(const char *text, char out[CLEAN_MAX])
{
	snprintf(out, CLEAN_MAX, "%s", text);
	text_clean(out);
	return out;
}
