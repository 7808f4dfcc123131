/* Do two PNG files show the same? Exits 0 when hardly a pixel differs: drivers may round colours and edges
 * differently in a window and without one, but what is drawn is the same. */
#include <stdio.h>
#include <stdlib.h>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#include <stb/stb_image.h>

#define NOTICEABLE 24         /* of 255, in any channel */
#define MOST_NOTICEABLE 0.005 /* of all pixels */
#define LEAST_VARIETY 20      /* colours: an empty picture has fewer */

int main(int argc, char **argv)
{
    int width[2], height[2], channels;
    unsigned char *pixels[2];
    if (argc != 3) {
        fprintf(stderr, "usage: compare_pictures A.png B.png\n");
        return 2;
    }
    for (int i = 0; i < 2; ++i) {
        pixels[i] = stbi_load(argv[1 + i], &width[i], &height[i], &channels, 3);
        if (!pixels[i]) {
            fprintf(stderr, "%s: %s\n", argv[1 + i], stbi_failure_reason());
            return 2;
        }
    }
    if (width[0] != width[1] || height[0] != height[1]) {
        fprintf(stderr, "%dx%d and %dx%d\n", width[0], height[0], width[1], height[1]);
        return 1;
    }
    long differing = 0, count = (long)width[0] * height[0];
    int variety = 0;
    char seen[4096] = {0};
    for (long i = 0; i < count; ++i) {
        int worst = 0, key = 0;
        for (int k = 0; k < 3; ++k) {
            int difference = abs(pixels[0][3 * i + k] - pixels[1][3 * i + k]);
            worst = difference > worst ? difference : worst;
            key = key << 4 | pixels[0][3 * i + k] >> 4;
        }
        differing += worst > NOTICEABLE;
        variety += !seen[key];
        seen[key] = 1;
    }
    printf("%ld of %ld pixels differ noticeably, %d colours\n", differing, count, variety);
    return (double)differing > MOST_NOTICEABLE * (double)count || variety < LEAST_VARIETY;
}
